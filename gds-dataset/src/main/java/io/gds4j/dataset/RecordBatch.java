package io.gds4j.dataset;

import io.gds4j.CuFileStream;
import io.gds4j.dataset.source.RecordSource;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.internal.lifetime.Undo;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.Objects;
import java.util.Optional;

/**
 * Records in contiguous memory, ready for a kernel. Record {@code i} has {@code length(i)} bytes from {@code offset(i)} on; the
 * records follow each other without gaps.
 *
 * <p>
 * The memory belongs to the loader. {@link #close()} gives it back at once, {@link #close(CuFileStream)} when a stream has done its
 * work with it. After that the methods that look at records throw INVALID_VALUE (EBADF). Thread-safe.
 *
 * @since 0.1
 */
public final class RecordBatch implements AutoCloseable {
    private final BatchRing ring;
    private final BatchBuffer buffer;
    private final long epoch;
    private final long nextPosition;
    private boolean closed;

    RecordBatch(BatchRing ring, BatchBuffer buffer, long epoch) {
        this.ring = ring;
        this.buffer = buffer;
        this.epoch = epoch;
        this.nextPosition = buffer.position + buffer.count;
    }

    /** {@return number of records, 1 or more; 0 only if {@link ErrorPolicy#SKIP} left out all} */
    public synchronized int count() {
        return open().count - buffer.skipped;
    }

    /** {@return number of records that {@link ErrorPolicy#SKIP} left out of this batch} */
    public synchronized int skipped() {
        return open().skipped;
    }

    /** {@return number of the epoch, from 0} */
    public long epoch() {
        return epoch;
    }

    /** {@return the state of this rank after this batch, also once the batch is closed; a loader that resumes there goes on behind it} */
    public LoaderState state() {
        return ring.state(nextPosition);
    }

    /**
     * Returns the memory that holds the records, from the first byte of the first to the last byte of the last.
     *
     * @return memory of the loader's kind, valid until the batch is closed
     */
    public synchronized MemoryRange memory() {
        return ring.memory().slice(open().base, buffer.bytes);
    }

    /**
     * Returns the number of a record in the data set.
     *
     * @param index 0 to {@code count() - 1}
     * @return the number, from 0
     * @throws IndexOutOfBoundsException for another index
     */
    public synchronized long record(int index) {
        return open().records[checked(index)];
    }

    /**
     * Returns the name of a record, such as that of a WebDataset's sample, as {@link RecordSource#key} of {@link #record}.
     *
     * @param index 0 to {@code count() - 1}
     * @return the name; empty if the records of the source have none
     * @throws IndexOutOfBoundsException for another index
     */
    public Optional<String> key(int index) {
        return ring.source().key(record(index));
    }

    /**
     * Returns where a record begins.
     *
     * @param index 0 to {@code count() - 1}
     * @return bytes from the begin of {@link #memory}
     * @throws IndexOutOfBoundsException for another index
     */
    public synchronized long offset(int index) {
        return open().offsets[checked(index)];
    }

    /**
     * Returns the length of a record.
     *
     * @param index 0 to {@code count() - 1}
     * @return bytes
     * @throws IndexOutOfBoundsException for another index
     */
    public synchronized long length(int index) {
        return open().offsets[checked(index) + 1] - buffer.offsets[index];
    }

    /**
     * Returns the bytes of a record in host memory. The loader uses them again once the batch is closed: a segment that the program
     * keeps longer then holds other records, or fails once the loader's memory is freed.
     *
     * @param index 0 to {@code count() - 1}
     * @return {@code length(index)} bytes, not copied
     * @throws IndexOutOfBoundsException for another index
     * @throws CuFileException CUDA_MEMORY_TYPE_INVALID if the loader reads into GPU memory
     */
    public synchronized MemorySegment segment(int index) {
        long length = length(index);
        return memory().slice(buffer.offsets[index], length).segment().orElseThrow(() -> CuFileException
                .builder("RecordBatch")
                .error(CuFileError.CUDA_MEMORY_TYPE_INVALID)
                .detail("the batch lies in GPU memory, which has no segment; use memory()")
                .build());
    }

    /**
     * Returns a part of a record, such as the file with extension {@code jpg} of a WebDataset's sample.
     *
     * @param index 0 to {@code count() - 1}
     * @param name one of {@link RecordSource#parts}
     * @return its bytes within {@link #memory}; empty if the record has no such part
     * @throws IndexOutOfBoundsException for another index
     * @throws CuFileException if the record does not say where its parts are, as {@link RecordSource#partOffset}
     */
    public synchronized Optional<MemoryRange> part(int index, String name) {
        long record = record(index);
        RecordSource source = ring.source();
        MemoryRange bytes = memory().slice(buffer.offsets[index], length(index));
        ByteBuffer head = ring.memory().head(bytes, source.headBytes());
        long offset = source.partOffset(record, name, head);
        return offset < 0
                ? Optional.empty()
                : Optional.of(bytes.slice(offset, source.partLength(record, name, head)));
    }

    private int checked(int index) {
        return Objects.checkIndex(index, buffer.count - buffer.skipped);
    }

    private BatchBuffer open() {
        if (closed) {
            throw CuFileException.of(CuFileError.INVALID_VALUE, Errno.EBADF, "RecordBatch", "the batch is closed");
        }
        return buffer;
    }

    /** Gives the memory back at once. The caller's work with it is done. Idempotent. */
    @Override
    public void close() {
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
        }
        ring.release(buffer);
    }

    /**
     * Gives the memory back when a stream has passed the work that is queued now. Returns at once; the last batch of a closed loader
     * waits for the stream and frees the memory. Idempotent. The stream must get there by itself: a call that waits for the next batch
     * may wait for any stream that has buffers.
     *
     * @param stream a stream of the loader's driver, on which the caller has queued all work with this batch
     * @throws CuFileException as {@link CuFileStream#read}, for example INVALID_VALUE if the stream is closed; the batch stays open
     */
    public void close(CuFileStream stream) {
        Objects.requireNonNull(stream, "stream");
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
        }
        Undo.ifFails(this::reopen, () -> ring.release(buffer, stream));
    }

    private synchronized void reopen() {
        closed = false;
    }

    @Override
    public synchronized String toString() {
        return closed
                ? "RecordBatch[closed]"
                : "RecordBatch[%s records of epoch %s]".formatted(buffer.count - buffer.skipped, epoch);
    }
}
