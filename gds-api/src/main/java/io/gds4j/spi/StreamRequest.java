package io.gds4j.spi;

import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Arguments of {@code cuFileReadAsync} and {@code cuFileWriteAsync}. The four segments are 8 bytes of host memory each and
 * outlive the operation. Without the matching FIXED flag, the backend reads them when the stream reaches the operation. A scattered
 * request has {@link #copies} in place of one memory; its {@link #bufferOffset} means nothing.
 *
 * @since 0.1
 */
public final class StreamRequest {
    private final BackendFile file;
    private final MemoryRange memory;
    private final MemorySegment size;
    private final MemorySegment fileOffset;
    private final MemorySegment bufferOffset;
    private final MemorySegment bytesDone;
    private final long stream;
    private final List<ScatterCopy> copies;
    private final ResultSink sink;

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

    private StreamRequest(
            BackendFile file,
            MemoryRange memory,
            MemorySegment size,
            MemorySegment fileOffset,
            MemorySegment bufferOffset,
            MemorySegment bytesDone,
            long stream,
            List<ScatterCopy> copies,
            ResultSink sink) {
        this.sink = sink;
        this.file = file;
        this.memory = memory;
        this.size = size;
        this.fileOffset = fileOffset;
        this.bufferOffset = bufferOffset;
        this.bytesDone = bytesDone;
        this.stream = stream;
        this.copies = copies;
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

    /** {@return hears of the bytes, and of the end; {@link ResultSink#NONE} without a report} */
    public ResultSink sink() {
        return sink;
    }

    /** {@return the file} */
    public BackendFile file() {
        return file;
    }

    /** {@return source of a write, destination of a read} */
    public MemoryRange memory() {
        return memory;
    }

    /** {@return bytes to move; at submission an upper bound} */
    public MemorySegment size() {
        return size;
    }

    /** {@return first byte in the file} */
    public MemorySegment fileOffset() {
        return fileOffset;
    }

    /** {@return first byte in the memory} */
    public MemorySegment bufferOffset() {
        return bufferOffset;
    }

    /** {@return memory that receives the byte count, or a negative error, before the stream continues} */
    public MemorySegment bytesDone() {
        return bytesDone;
    }

    /** {@return raw {@code CUstream}, 0 for the default stream} */
    public long stream() {
        return stream;
    }

    /** {@return the fragments of a scattered request; empty for one with a single memory} */
    public List<ScatterCopy> copies() {
        return copies;
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

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof StreamRequest that && stream == that.stream && file.equals(that.file)
                && memory.equals(that.memory) && size.equals(that.size) && fileOffset.equals(that.fileOffset)
                && bufferOffset.equals(that.bufferOffset) && bytesDone.equals(that.bytesDone)
                && copies.equals(that.copies) && sink.equals(that.sink);
    }

    @Override
    public int hashCode() {
        return Objects.hash(file, memory, size, fileOffset, bufferOffset, bytesDone, stream, copies, sink);
    }

    @Override
    public String toString() {
        return "StreamRequest[file=" + file + ", memory=" + memory + ", size=" + size + ", fileOffset=" + fileOffset
                + ", bufferOffset=" + bufferOffset + ", bytesDone=" + bytesDone + ", stream=" + stream
                + (copies.isEmpty() ? "" : ", fragments=" + copies.size()) + ']';
    }
}
