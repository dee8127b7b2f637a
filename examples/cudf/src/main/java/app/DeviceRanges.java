package app;

import ai.rapids.cudf.ByteRange;
import ai.rapids.cudf.DeviceMemoryBuffer;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.IoResult;
import io.gds4j.IoResults;
import io.gds4j.RangeRead;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.statistics.IoPath;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * Reads byte ranges of a file into buffers of cudf, as its {@code HybridScanReader} names the ones and takes the others. One thread at a time
 * uses it; the tasks of an executor have one each and share a driver. {@link PayloadColumns} calls it.
 */
public final class DeviceRanges {
    private final CuFileDriver driver;
    private final int device;
    private IoResults results = new IoResults();
    private long nanos;

    /** @param device ordinal of the GPU whose memory the buffers are */
    public DeviceRanges(CuFileDriver driver, int device) {
        this.driver = driver;
        this.device = device;
    }

    /**
     * What the last read did.
     *
     * @param requested bytes of all ranges
     * @param moved bytes that were read, those of failed ranges included
     * @param byPath the path of these bytes
     * @param notDirect why some of them did not go by GPUDirect Storage; empty if all did
     * @param nanos duration of the read
     */
    public record Transport(
            long requested, long moved, Map<IoPath, Long> byPath, SortedSet<String> notDirect, long nanos) {
        /** Returns whether each byte went from the storage to the GPU without host memory. */
        public boolean isDirect() {
            return moved == requested && byPath.keySet().stream().allMatch(IoPath::isDirect);
        }
    }

    /**
     * Reads each range into the buffer of the same index, whole or not at all: when this returns, every byte of every range is there. The
     * buffers stay the caller's. Until this returns or throws, it holds a reference to each, so that a task that is killed cannot free
     * memory into which bytes arrive.
     *
     * @param buffers each at least as long as its range; no stream uses them any more
     * @throws IllegalStateException if a buffer is closed; nothing is read then
     * @throws CuFileException if a range cannot be read or the file ends in it; {@link #transport} tells what was read
     * @throws io.gds4j.error.CuFileInterruptedException if the thread is interrupted
     */
    public void read(CuFileHandle file, ByteRange[] ranges, DeviceMemoryBuffer[] buffers) {
        results = new IoResults(); // the transport of a read that throws at once is empty
        nanos = 0;
        if (ranges.length != buffers.length) {
            throw new IllegalArgumentException("%s ranges and %s buffers".formatted(ranges.length, buffers.length));
        }
        List<RangeRead> reads = new ArrayList<>();
        List<DeviceMemoryBuffer> held = new ArrayList<>();
        try {
            for (int i = 0; i < ranges.length; i++) {
                if (ranges[i].size() > buffers[i].getLength()) {
                    throw new IllegalArgumentException("%s does not fit into %s".formatted(ranges[i], buffers[i]));
                }
                if (ranges[i].isEmpty()) {
                    continue; // cudf gives an empty buffer no address
                }
                if (buffers[i].getRefCount() < 1) {
                    throw new IllegalStateException(buffers[i] + " is closed"); // cudf would count, and its memory is freed
                }
                buffers[i].incRefCount();
                held.add(buffers[i]);
                MemoryRange memory = MemoryRange.ofAddress(
                        buffers[i].getAddress(), buffers[i].getLength(), MemoryKind.CUDA_DEVICE, device);
                reads.add(RangeRead.of(file, memory, ranges[i].size(), ranges[i].offset(), 0));
            }
            long begun = System.nanoTime();
            try {
                driver.readRanges(reads, results);
            } finally {
                nanos = System.nanoTime() - begun;
            }
            requireWhole(file, reads);
        } finally {
            held.forEach(DeviceMemoryBuffer::close);
        }
    }

    /** A file that has become shorter would be decoded as what the buffer held before. */
    private void requireWhole(CuFileHandle file, List<RangeRead> reads) {
        for (int i = 0; i < reads.size(); i++) {
            if (!results.get(i).isComplete()) {
                throw CuFileException.builder("cuFileRead")
                        .path(file.path())
                        .range(reads.get(i).fileOffset(), reads.get(i).size())
                        .transferred(results.get(i).moved())
                        .detail("the file ends in the range")
                        .build();
            }
        }
    }

    /** Returns what the last read did, also if it threw. */
    public Transport transport() {
        long requested = 0;
        Map<IoPath, Long> byPath = new EnumMap<>(IoPath.class);
        SortedSet<String> notDirect = new TreeSet<>();
        for (IoResult range : results) {
            requested += range.asked();
            range.bytesByPath().forEach((path, bytes) -> byPath.merge(path, bytes, Long::sum));
            range.whyNotDirect().ifPresent(notDirect::add);
        }
        return new Transport(requested, results.moved(), byPath, notDirect, nanos);
    }
}
