package io.gds4j;

import io.gds4j.error.CuFileException;
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
 * Reads of ranges of a file, in order, some ahead of the caller; no more memory than the caller gave. For one thread at a
 * time, which may be virtual. See {@link CuFileHandle#prefetch}.
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

    /** A read that is on its way, or that failed to start: then it fails when its turn comes. */
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
        boolean begun = false;
        try {
            goAhead();
            begun = true;
        } finally {
            if (!begun) {
                close();
            }
        }
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
     * The next range in order; waits until it has been read. The memory of the one before is read into again.
     *
     * @return what was read
     * @throws NoSuchElementException after the last one, and after close
     * @throws CuFileException if it was refused or reading it failed; later ranges can still be asked for
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

    /** Cancels what is ahead and waits until nothing is read into the buffers any more. Idempotent. */
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
     * Bytes of a file.
     *
     * @param fileOffset first byte, 0 or more
     * @param size bytes, no more than a buffer holds
     */
    public record FileRange(long fileOffset, long size) {
    }

    /**
     * A range that has been read, at the beginning of its memory; valid until the next call of {@link #next} or
     * {@link #close}.
     *
     * @param range what was asked for
     * @param memory the buffer that it is in
     * @param bytes bytes read; less than asked only at the end of the file
     */
    public record Chunk(FileRange range, IoMemory memory, long bytes) {
    }
}
