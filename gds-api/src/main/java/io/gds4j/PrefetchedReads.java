package io.gds4j;

import io.gds4j.error.CuFileException;
import io.gds4j.internal.lifetime.Undo;
import io.gds4j.memory.IoMemory;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/**
 * Reads ranges of a file in order and ahead of the caller, into the caller's buffers only; see {@link CuFileHandle#prefetch}. Not
 * thread-safe; the calling thread may be virtual.
 *
 * @since 0.1
 */
@Experimental
public final class PrefetchedReads implements Iterator<PrefetchedReads.Chunk>, AutoCloseable {
    private final CuFileHandle handle;
    private final Iterator<FileRange> ranges;
    private final Deque<IoMemory> free;
    private final Deque<Ahead> ahead = new ArrayDeque<>();
    private @Nullable IoMemory shown;
    private boolean closed;

    /** A read that has started. If it could not start, {@link #next} throws the reason when its turn comes. */
    private static final class Ahead {
        private final FileRange range;
        private final IoMemory memory;
        private CompletableFuture<Long> read = new CompletableFuture<>();

        Ahead(FileRange range, IoMemory memory) {
            this.range = range;
            this.memory = memory;
        }

        void begin(CuFileHandle handle) {
            try {
                read = handle.readAsync(memory, range.size(), range.fileOffset(), 0);
            } catch (CuFileException | OutOfMemoryError e) {
                read.completeExceptionally(e);
            }
        }
    }

    PrefetchedReads(CuFileHandle handle, List<IoMemory> buffers, Iterator<FileRange> ranges) {
        if (buffers.isEmpty()) {
            throw Failures.invalid("cuFileRead", "there are no buffers to read into");
        }
        this.handle = handle;
        this.ranges = Objects.requireNonNull(ranges, "ranges");
        this.free = new ArrayDeque<>(buffers);
        Undo.ifFails(this::close, this::goAhead);
    }

    private void goAhead() {
        while (!free.isEmpty() && ranges.hasNext()) {
            FileRange range = Objects.requireNonNull(ranges.next(), "range");
            Ahead next = new Ahead(range, free.element());
            ahead.add(next);
            free.remove();
            next.begin(handle);
        }
    }

    @Override
    public boolean hasNext() {
        return !closed && (!ahead.isEmpty() || ranges.hasNext());
    }

    /**
     * Waits for the next range in order and returns it. Reuses the memory of the previous chunk.
     *
     * @return the next chunk
     * @throws NoSuchElementException after the last range and after close
     * @throws CuFileException if reading this range failed; later calls return the ranges after it
     */
    @Override
    public Chunk next() {
        if (!hasNext()) {
            throw new NoSuchElementException();
        }
        giveBack();
        goAhead();
        Ahead first = ahead.remove();
        shown = first.memory;
        try {
            return new Chunk(first.range, first.memory, first.read.join());
        } catch (CompletionException e) {
            switch (e.getCause()) {
                case RuntimeException known -> throw known;
                case Error known -> throw known;
                case null, default -> throw e;
            }
        }
    }

    private void giveBack() {
        if (shown != null) {
            free.add(shown);
            shown = null;
        }
    }

    /** Cancels the reads ahead and waits until none uses a buffer. Idempotent. */
    @Override
    public void close() {
        closed = true;
        for (Ahead read : ahead) {
            read.read.cancel(true);
        }
        ahead.forEach(read -> AsyncCalls.awaitEnd(read.read));
        ahead.clear();
    }

    /**
     * A range of a file.
     *
     * @param fileOffset first byte, 0 or more
     * @param size bytes, 0 to the size of a buffer
     */
    public record FileRange(long fileOffset, long size) {
    }

    /**
     * A range that has been read. Its memory is valid until the next call of {@link #next} or {@link #close}.
     */
    public static final class Chunk {
        private final FileRange range;
        private final IoMemory memory;
        private final long bytes;

        /**
         * Sets the parts.
         *
         * @param range as {@link #range}
         * @param memory as {@link #memory}
         * @param bytes as {@link #bytes}
         */
        public Chunk(FileRange range, IoMemory memory, long bytes) {
            this.range = range;
            this.memory = memory;
            this.bytes = bytes;
        }

        /** {@return the range} */
        public FileRange range() {
            return range;
        }

        /** {@return the buffer, which holds the range from its first byte on} */
        public IoMemory memory() {
            return memory;
        }

        /** {@return bytes read; less than the range only at the end of the file} */
        public long bytes() {
            return bytes;
        }

        @Override
        public String toString() {
            return "Chunk[range=" + range + ", memory=" + memory + ", bytes=" + bytes + ']';
        }
    }
}
