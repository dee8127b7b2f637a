package io.gds4j.spi;

import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import java.util.List;

/**
 * One request: an entry of a batch ({@code CUfileIOParams_t}), or a call of {@link CuFileBackend#transfer}. A scattered request has
 * {@link #copies} in place of one memory.
 *
 * @param file the file
 * @param operation {@link Operation#READ} or {@link Operation#WRITE}
 * @param memory source of a write, destination of a read
 * @param size bytes
 * @param fileOffset first byte in the file
 * @param bufferOffset first byte in the memory
 * @param cookie identifies the entry in its event
 * @param copies the fragments of a scattered request; empty for one with a single memory
 * @param sink hears of the bytes; {@link ResultSink#NONE} without a report
 * @since 0.1
 */
public record BatchRequest(BackendFile file, Operation operation, MemoryRange memory, long size, long fileOffset,
        long bufferOffset, long cookie, List<ScatterCopy> copies, ResultSink sink) {
    /**
     * Sets the parts of a request with one memory and no report.
     *
     * @param file as {@link #file}
     * @param operation as {@link #operation}
     * @param memory as {@link #memory}
     * @param size as {@link #size}
     * @param fileOffset as {@link #fileOffset}
     * @param bufferOffset as {@link #bufferOffset}
     * @param cookie as {@link #cookie}
     */
    public BatchRequest(
            BackendFile file,
            Operation operation,
            MemoryRange memory,
            long size,
            long fileOffset,
            long bufferOffset,
            long cookie) {
        this(file, operation, memory, size, fileOffset, bufferOffset, cookie, List.of(), ResultSink.NONE);
    }

    /** {@return true to write the memory to the file, false to read the file into the memory} */
    public boolean write() {
        return operation.isWrite();
    }

    /**
     * Returns a request between a file range and several fragments of memory.
     *
     * @param file the file
     * @param operation {@link Operation#READ}, or {@link Operation#WRITE} from fragments that hold each byte of the range once
     * @param fileOffset first byte of the range
     * @param size bytes of the range
     * @param copies the fragments, 1 or more; offsets count from the start of the range. The request keeps the list
     * @return the request; its {@link #memory} is the first fragment's
     */
    public static BatchRequest scattered(
            BackendFile file, Operation operation, long fileOffset, long size, List<ScatterCopy> copies) {
        MemoryRange first = copies.getFirst().destination().range();
        return new BatchRequest(file, operation, first, size, fileOffset, 0, 0, copies, ResultSink.NONE);
    }

    /**
     * Returns this request with a report.
     *
     * @param to hears of the bytes
     * @return the request
     */
    public BatchRequest reportTo(ResultSink to) {
        return new BatchRequest(file, operation, memory, size, fileOffset, bufferOffset, cookie, copies, to);
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
        return new BatchRequest(file, operation, slab, bytes, fileOffset + start, slabOffset, 0, List.of(), sink);
    }

    /**
     * Returns this request for another backend.
     *
     * @param other the file there
     * @return the request
     */
    public BatchRequest at(BackendFile other) {
        return new BatchRequest(other, operation, memory, size, fileOffset, bufferOffset, cookie, copies, sink);
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
        return new BatchRequest(file, operation, memory, left, fileOffset + from, start, cookie, part, sink);
    }
}
