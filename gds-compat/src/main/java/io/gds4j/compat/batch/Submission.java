package io.gds4j.compat.batch;

import io.gds4j.error.Errno;
import io.gds4j.spi.BatchEvent;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.BatchStatus;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** The entries of one {@code cuFileBatchIOSubmit}: threads claim some, run them and report them to the batch together. */
final class Submission {
    /** Largest entry in bytes of which a thread claims several at a time. */
    private static final long SMALL_BYTES = 64 << 10;

    private final CompatBatch batch;
    private final List<BatchRequest> entries;
    private final boolean small;
    private final boolean spread;
    private final long submitted = System.nanoTime();
    private final AtomicInteger next = new AtomicInteger();

    /**
     * Creates a submission that does not run yet.
     *
     * @param waitsForDisk true if threads are likely to sleep until a disk answers
     */
    Submission(CompatBatch batch, List<BatchRequest> entries, boolean waitsForDisk) {
        this.batch = batch;
        this.entries = List.copyOf(entries);
        this.small = entries.stream().allMatch(entry -> entry.size() <= SMALL_BYTES);
        this.spread = small && waitsForDisk && 2 * followers(entries) < entries.size();
    }

    /** Returns the number of entries that begin where the previous one ends: one thread reads those best. */
    private static int followers(List<BatchRequest> entries) {
        int count = 0;
        for (int i = 1; i < entries.size(); i++) {
            BatchRequest before = entries.get(i - 1);
            boolean follows = entries.get(i).file() == before.file()
                    && entries.get(i).fileOffset() == before.fileOffset() + before.size();
            count += follows ? 1 : 0;
        }
        return count;
    }

    int size() {
        return entries.size();
    }

    boolean isSmall() {
        return small;
    }

    /** Returns whether all threads should serve the small entries, because each thread sleeps most of the time. */
    boolean isSpread() {
        return spread;
    }

    private boolean isSmall(int entry) {
        return entries.get(entry).size() <= SMALL_BYTES;
    }

    boolean hasUnclaimed() {
        return next.get() < entries.size();
    }

    /**
     * Claims some entries and runs them.
     *
     * @param most largest number of small entries to claim
     */
    void runSome(EntryRunner runner, int most) {
        int from;
        int to;
        do {
            from = next.get();
            if (from >= entries.size()) {
                return;
            }
            to = from + 1;
            while (to < entries.size() && to - from < most && isSmall(from) && isSmall(to)) {
                to++;
            }
        } while (!next.compareAndSet(from, to));
        int ended = from;
        try {
            List<BatchEvent> events = new ArrayList<>(to - from);
            try {
                runner.run(entries.subList(from, to), submitted, events);
            } finally {
                ended += events.size();
                batch.finish(events);
            }
        } catch (OutOfMemoryError e) {
            // The thread lives on: the entries that it has not ended fail, and a later entry may find memory.
        } finally {
            if (ended < to) {
                batch.fail(entries, ended, to);
            }
        }
    }

    /** Fails the entries that no thread has claimed. Allocates nothing. */
    void fail() {
        batch.fail(entries, entries.size() - claimRest(), entries.size());
    }

    /** Claims the entries that no thread has claimed, and returns their number. */
    int claimRest() {
        return entries.size() - next.getAndSet(entries.size());
    }

    /** Claims the entries that no thread has claimed, and returns their events. Makes the events first: that may fail. */
    List<BatchEvent> cancel() {
        int from;
        List<BatchEvent> events;
        do {
            from = next.get();
            events = entries.subList(from, entries.size()).stream()
                    .map(entry -> new BatchEvent(entry.cookie(), BatchStatus.CANCELED, -Errno.ECANCELED))
                    .toList();
        } while (!next.compareAndSet(from, entries.size()));
        return events;
    }
}
