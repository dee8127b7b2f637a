package io.gds4j.spi;

import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * Arguments of {@code cuFileReadAsync} and {@code cuFileWriteAsync}. The four segments are 8 bytes of host memory each and
 * outlive the operation. Without the matching FIXED flag, the backend reads them when the stream reaches the operation. A scattered
 * request has {@link #copies} in place of one memory; its {@link #bufferOffset} means nothing.
 *
 * @param file the file
 * @param memory source of a write, destination of a read
 * @param size bytes to move; at submission an upper bound
 * @param fileOffset first byte in the file
 * @param bufferOffset first byte in the memory
 * @param bytesDone memory that receives the byte count, or a negative error, before the stream continues
 * @param stream raw {@code CUstream}, 0 for the default stream
 * @param copies the fragments of a scattered request; empty for one with a single memory
 * @param sink hears of the bytes, and of the end; {@link ResultSink#NONE} without a report
 * @since 0.1
 */
public record StreamRequest(BackendFile file, MemoryRange memory, MemorySegment size, MemorySegment fileOffset,
        MemorySegment bufferOffset, MemorySegment bytesDone, long stream, List<ScatterCopy> copies, ResultSink sink) {
    /**
     * Sets the parts of an operation without a report.
     *
     * @param file as {@link #file}
     * @param memory as {@link #memory}
     * @param size as {@link #size}
     * @param fileOffset as {@link #fileOffset}
     * @param bufferOffset as {@link #bufferOffset}
     * @param bytesDone as {@link #bytesDone}
     * @param stream as {@link #stream}
     */
    public StreamRequest(
            BackendFile file,
            MemoryRange memory,
            MemorySegment size,
            MemorySegment fileOffset,
            MemorySegment bufferOffset,
            MemorySegment bytesDone,
            long stream) {
        this(file, memory, size, fileOffset, bufferOffset, bytesDone, stream, List.of(), ResultSink.NONE);
    }

    /**
     * Returns this request with fragments in place of its memory.
     *
     * @param fragments 1 or more; offsets count from the start of the range of the file
     * @return the request; its {@link #memory} is the first fragment's
     */
    public StreamRequest scattered(List<ScatterCopy> fragments) {
        return new StreamRequest(
                file, fragments.getFirst().destination().range(), size, fileOffset, bufferOffset, bytesDone, stream,
                List.copyOf(fragments), sink);
    }

    /**
     * Returns this request for another backend.
     *
     * @param other the file there
     * @return the request
     */
    public StreamRequest at(BackendFile other) {
        return new StreamRequest(other, memory, size, fileOffset, bufferOffset, bytesDone, stream, copies, sink);
    }

    /**
     * Returns this request with another size and result.
     *
     * @param bytes as {@link #size}
     * @param result as {@link #bytesDone}
     * @return the request
     */
    public StreamRequest with(MemorySegment bytes, MemorySegment result) {
        return new StreamRequest(file, memory, bytes, fileOffset, bufferOffset, result, stream, copies, sink);
    }

    /**
     * Returns this operation with a report.
     *
     * @param to hears of the bytes, and of the end
     * @return the operation
     */
    public StreamRequest reportTo(ResultSink to) {
        return new StreamRequest(file, memory, size, fileOffset, bufferOffset, bytesDone, stream, copies, to);
    }

    /** {@return the memory of each fragment, once where neighbours share it; {@link #memory} of a request without fragments} */
    public List<MemoryRange> memories() {
        List<MemoryRange> all = new ArrayList<>();
        all.add(memory);
        for (ScatterCopy copy : copies) {
            MemoryRange next = copy.destination().range();
            if (next != all.getLast()) {
                all.add(next);
            }
        }
        return all;
    }
}
