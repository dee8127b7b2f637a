package io.gds4j.compat;

import io.gds4j.error.Errno;
import io.gds4j.spi.BatchEvent;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.BatchStatus;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** The entries of one {@code cuFileBatchIOSubmit}: threads claim some, run them and report them to the batch together. */
final class Submission {
    /** Entries up to here are claimed several at a time. */
    private static final long SMALL_BYTES = 64 << 10;

    private static final int MOST_AT_ONCE = 8;

    private final CompatBatch batch;
    private final List<BatchRequest> entries;
    private final EntryIo io;
    private final boolean small;
    private final long submitted = System.nanoTime();
    private final AtomicInteger next = new AtomicInteger();

    Submission(CompatBatch batch, List<BatchRequest> entries, EntryIo io) {
        this.batch = batch;
        this.entries = List.copyOf(entries);
        this.io = io;
        this.small = entries.stream().allMatch(entry -> entry.size() <= SMALL_BYTES);
    }

    /** Moves the bytes of one entry. */
    interface EntryIo {
        /**
         * @param submitted when the entry was submitted, by the clock of {@link System#nanoTime}
         * @return how it ended
         */
        BatchEvent run(Lane lane, BatchRequest entry, long submitted);
    }

    int size() {
        return entries.size();
    }

    boolean isSmall() {
        return small;
    }

    boolean hasUnclaimed() {
        return next.get() < entries.size();
    }

    /**
     * Claims some entries and runs them.
     *
     * @param runners how many threads may share the work
     */
    void runSome(Lane lane, int runners) {
        int from = next.get();
        int to = from;
        do {
            from = next.get();
            int left = entries.size() - from;
            if (left <= 0) {
                return;
            }
            to = from + (small ? Math.clamp(left / runners, 1, MOST_AT_ONCE) : 1);
        } while (!next.compareAndSet(from, to));
        List<BatchEvent> events = new ArrayList<>(to - from);
        try {
            for (BatchRequest entry : entries.subList(from, to)) {
                events.add(io.run(lane, entry, submitted));
            }
        } finally {
            // Each entry is reported, come what may: somebody waits for it.
            for (BatchRequest entry : entries.subList(from + events.size(), to)) {
                events.add(new BatchEvent(entry.cookie(), BatchStatus.FAILED, -Errno.EIO));
            }
            batch.finish(events);
        }
    }

    /** Takes what nobody has claimed. */
    List<BatchEvent> cancel() {
        int from = Math.min(next.getAndSet(entries.size()), entries.size());
        return entries.subList(from, entries.size()).stream()
                .map(entry -> new BatchEvent(entry.cookie(), BatchStatus.CANCELED, -Errno.ECANCELED))
                .toList();
    }
}
