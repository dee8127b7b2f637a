package io.gds4j.spi;

import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One request: an entry of a batch ({@code CUfileIOParams_t}), or a call of {@link CuFileBackend#transfer}. A scattered request has
 * {@link #copies} in place of one memory.
 *
 * @since 0.1
 */
public final class BatchRequest {
    private final BackendFile file;
    private final boolean write;
    private final MemoryRange memory;
    private final long size;
    private final long fileOffset;
    private final long bufferOffset;
    private final long cookie;
    private final List<ScatterCopy> copies;
    private final ResultSink sink;

    /**
     * Sets the parts of a request with one memory and no report.
     *
     * @param file as {@link #file}
     * @param write as {@link #write}
     * @param memory as {@link #memory}
     * @param size as {@link #size}
     * @param fileOffset as {@link #fileOffset}
     * @param bufferOffset as {@link #bufferOffset}
     * @param cookie as {@link #cookie}
     */
    public BatchRequest(
            BackendFile file,
            boolean write,
            MemoryRange memory,
            long size,
            long fileOffset,
            long bufferOffset,
            long cookie) {
        this(file, write, memory, size, fileOffset, bufferOffset, cookie, List.of(), ResultSink.NONE);
    }

    private BatchRequest(
            BackendFile file,
            boolean write,
            MemoryRange memory,
            long size,
            long fileOffset,
            long bufferOffset,
            long cookie,
            List<ScatterCopy> copies,
            ResultSink sink) {
        this.file = file;
        this.write = write;
        this.memory = memory;
        this.size = size;
        this.fileOffset = fileOffset;
        this.bufferOffset = bufferOffset;
        this.cookie = cookie;
        this.copies = copies;
        this.sink = sink;
    }

    /**
     * Returns a request between a file range and several fragments of memory.
     *
     * @param file the file
     * @param write true to write the fragments, which hold each byte of the range once; false to read into them
     * @param fileOffset first byte of the range
     * @param size bytes of the range
     * @param copies the fragments, 1 or more; offsets count from the start of the range. The request keeps the list
     * @return the request; its {@link #memory} is the first fragment's
     */
    public static BatchRequest scattered(
            BackendFile file, boolean write, long fileOffset, long size, List<ScatterCopy> copies) {
        MemoryRange first = copies.getFirst().destination().range();
        return new BatchRequest(file, write, first, size, fileOffset, 0, 0, copies, ResultSink.NONE);
    }

    /**
     * Returns this request with a report.
     *
     * @param to hears of the bytes
     * @return the request
     */
    public BatchRequest reportTo(ResultSink to) {
        return new BatchRequest(file, write, memory, size, fileOffset, bufferOffset, cookie, copies, to);
    }

    /**
     * Returns a part of this request between the file and other memory, which hears of its bytes as this one does.
     *
     * @param slab memory in place of this request's
     * @param start offset of the part in this request
     * @param bytes bytes of the part
     * @param slabOffset first byte in the slab
     * @return the part
     */
    public BatchRequest staged(MemoryRange slab, long start, long bytes, long slabOffset) {
        return new BatchRequest(file, write, slab, bytes, fileOffset + start, slabOffset, 0, List.of(), sink);
    }

    /**
     * Returns this request for another backend.
     *
     * @param other the file there
     * @return the request
     */
    public BatchRequest at(BackendFile other) {
        return new BatchRequest(other, write, memory, size, fileOffset, bufferOffset, cookie, copies, sink);
    }

    /**
     * Returns the beginning of this request.
     *
     * @param bytes at most {@link #size}
     * @return the request; one that has lost all its fragments reads nothing
     */
    public BatchRequest first(long bytes) {
        return bytes == size ? this : part(0, bytes);
    }

    /**
     * Returns the end of this request.
     *
     * @param done bytes before it, 0 to {@link #size}
     * @return the request; one that has lost all its fragments reads nothing
     */
    public BatchRequest rest(long done) {
        return done == 0 ? this : part(done, size - done);
    }

    private BatchRequest part(long from, long bytes) {
        List<ScatterCopy> part = copies.stream().flatMap(copy -> copy.part(from, bytes).stream()).toList();
        long left = part.isEmpty() && !copies.isEmpty() ? 0 : bytes;
        long start = copies.isEmpty() ? bufferOffset + from : bufferOffset;
        return new BatchRequest(file, write, memory, left, fileOffset + from, start, cookie, part, sink);
    }

    /** {@return the file} */
    public BackendFile file() {
        return file;
    }

    /** {@return true to write the memory to the file, false to read the file into the memory} */
    public boolean write() {
        return write;
    }

    /** {@return source of a write, destination of a read} */
    public MemoryRange memory() {
        return memory;
    }

    /** {@return bytes} */
    public long size() {
        return size;
    }

    /** {@return first byte in the file} */
    public long fileOffset() {
        return fileOffset;
    }

    /** {@return first byte in the memory} */
    public long bufferOffset() {
        return bufferOffset;
    }

    /** {@return identifies the entry in its event} */
    public long cookie() {
        return cookie;
    }

    /** {@return the fragments of a scattered request; empty for one with a single memory} */
    public List<ScatterCopy> copies() {
        return copies;
    }

    /** {@return hears of the bytes; {@link ResultSink#NONE} without a report} */
    public ResultSink sink() {
        return sink;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof BatchRequest that && write == that.write && size == that.size
                && fileOffset == that.fileOffset && bufferOffset == that.bufferOffset && cookie == that.cookie
                && file.equals(that.file) && memory.equals(that.memory) && copies.equals(that.copies)
                && sink.equals(that.sink);
    }

    @Override
    public int hashCode() {
        return Objects.hash(file, write, memory, size, fileOffset, bufferOffset, cookie, copies, sink);
    }

    @Override
    public String toString() {
        return "BatchRequest[file=" + file + ", write=" + write + ", memory=" + memory + ", size=" + size
                + ", fileOffset=" + fileOffset + ", bufferOffset=" + bufferOffset + ", cookie=" + cookie
                + (copies.isEmpty() ? "" : ", fragments=" + copies.size()) + ']';
    }
}
