package io.gds4j.ffi.cufile;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.gds4j.statistics.GpuStatistics;
import io.gds4j.statistics.StatisticsLevel3;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.util.ArrayList;
import java.util.List;

/** {@code CUfileStatsLevel3_t}: level 2 and room for 16 GPUs. */
final class StatsLevel3 {
    static final int MAX_GPUS = 16;

    static final StructLayout LAYOUT = MemoryLayout.structLayout(
            StatsLevel2.LAYOUT.withName("detailed"),
            JAVA_INT.withName("num_gpus"),
            MemoryLayout.paddingLayout(4),
            MemoryLayout.sequenceLayout(MAX_GPUS, PerGpuStats.LAYOUT).withName("per_gpu_stats"));

    /** Bytes to allocate: later versions of the library may write more. */
    static final long BUFFER_BYTES = 4 * 4096;

    private static final long COUNT = LAYOUT.byteOffset(PathElement.groupElement("num_gpus"));
    private static final long FIRST = LAYOUT.byteOffset(PathElement.groupElement("per_gpu_stats"));

    private StatsLevel3() {
    }

    static StatisticsLevel3 read(MemorySegment buffer) {
        int count = Math.clamp(buffer.get(JAVA_INT, COUNT), 0, MAX_GPUS);
        List<GpuStatistics> gpus = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            gpus.add(PerGpuStats.read(buffer.asSlice(FIRST + i * PerGpuStats.LAYOUT.byteSize())));
        }
        return new StatisticsLevel3(StatsLevel2.read(buffer), gpus);
    }
}
