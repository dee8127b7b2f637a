package app;

import ai.rapids.cudf.ByteRange;
import ai.rapids.cudf.ColumnVector;
import ai.rapids.cudf.Cuda;
import ai.rapids.cudf.DeviceMemoryBuffer;
import ai.rapids.cudf.HybridScanReader;
import ai.rapids.cudf.Table;
import io.gds4j.CuFileHandle;

/** Where a reader of Parquet calls {@link DeviceRanges}. Runs only where cudf's native libraries do, on a GPU. */
final class PayloadColumns {
    private PayloadColumns() {
    }

    /** Reads the columns behind a filter. The caller owns the table; on failure nothing is left. */
    static Table read(
            HybridScanReader reader, int[] rowGroups, ColumnVector rowMask, CuFileHandle file,
            DeviceRanges deviceRanges) {
        ByteRange[] ranges = reader.payloadColumnChunksByteRanges(rowGroups);
        DeviceMemoryBuffer[] chunks = new DeviceMemoryBuffer[ranges.length];
        try {
            for (int i = 0; i < ranges.length; i++) {
                chunks[i] = DeviceMemoryBuffer.allocate(ranges[i].size());
            }
            Cuda.DEFAULT_STREAM.sync(); // the allocator orders memory by this stream, and reads are in none
            deviceRanges.read(file, ranges, chunks);
            return reader.materializePayloadColumns(rowGroups, chunks, rowMask, false);
        } finally {
            for (DeviceMemoryBuffer chunk : chunks) {
                if (chunk != null) {
                    chunk.close();
                }
            }
        }
    }
}
