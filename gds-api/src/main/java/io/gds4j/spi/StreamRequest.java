package io.gds4j.spi;

import io.gds4j.memory.MemoryRange;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Arguments of {@code cuFileReadAsync} and {@code cuFileWriteAsync}. The four segments are 8 bytes of host memory each and
 * outlive the operation. Without the matching FIXED flag, the backend reads them when the stream reaches the operation.
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
        this(file, memory, size, fileOffset, bufferOffset, bytesDone, stream, ResultSink.NONE);
    }

    private StreamRequest(
            BackendFile file,
            MemoryRange memory,
            MemorySegment size,
            MemorySegment fileOffset,
            MemorySegment bufferOffset,
            MemorySegment bytesDone,
            long stream,
            ResultSink sink) {
        this.sink = sink;
        this.file = file;
        this.memory = memory;
        this.size = size;
        this.fileOffset = fileOffset;
        this.bufferOffset = bufferOffset;
        this.bytesDone = bytesDone;
        this.stream = stream;
    }

    /**
     * Returns this operation with a report.
     *
     * @param to hears of the bytes, and of the end
     * @return the operation
     */
    public StreamRequest reportTo(ResultSink to) {
        return new StreamRequest(file, memory, size, fileOffset, bufferOffset, bytesDone, stream, to);
    }

    /**
     * Returns this operation for another backend.
     *
     * @param other the file there
     * @return the operation
     */
    public StreamRequest at(BackendFile other) {
        return new StreamRequest(other, memory, size, fileOffset, bufferOffset, bytesDone, stream, sink);
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

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof StreamRequest that && stream == that.stream && file.equals(that.file)
                && memory.equals(that.memory) && size.equals(that.size) && fileOffset.equals(that.fileOffset)
                && bufferOffset.equals(that.bufferOffset) && bytesDone.equals(that.bytesDone) && sink.equals(that.sink);
    }

    @Override
    public int hashCode() {
        return Objects.hash(file, memory, size, fileOffset, bufferOffset, bytesDone, stream, sink);
    }

    @Override
    public String toString() {
        return "StreamRequest[file=" + file + ", memory=" + memory + ", size=" + size + ", fileOffset=" + fileOffset
                + ", bufferOffset=" + bufferOffset + ", bytesDone=" + bytesDone + ", stream=" + stream + ']';
    }
}
