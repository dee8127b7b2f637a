package io.gds4j.compat.batch;

import io.gds4j.error.Errno;
import io.gds4j.spi.BatchEvent;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.BatchStatus;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** The entries of one {@code cuFileBatchIOSubmit}: threads claim some, run them and report them to the batch together. */
final class Submission {
    /** Largest entry in bytes of which a thread claims several at a time, whatever its memory and direction. */
    private static final long SMALL_BYTES = 64 << 10;

    /** Smallest number of larger reads into GPU memory that are claimed together. Workers serve fewer ones better, each in pieces. */
    private static final int MANY = 8;

    /** A system call and a copy take as long as a thread needs to read so many bytes from the page cache. */
    private static final long ENTRY_BYTES = 8 << 10;

    private final CompatBatch batch;
    private final List<BatchRequest> entries;
    private final boolean small;
    private final boolean waitsForDisk;
    private final boolean scattered;
    private final long submitted = System.nanoTime();

    /** The work before each entry, and that of all: bytes, and {@link #ENTRY_BYTES} for each entry that does not follow another. */
    private final long[] workBefore;

    private final AtomicInteger next = new AtomicInteger();

    /**
     * Creates a submission that does not run yet.
     *
     * @param waitsForDisk true if threads are likely to sleep until a disk answers
     */
    Submission(CompatBatch batch, List<BatchRequest> entries, boolean waitsForDisk) {
        this.batch = batch;
        this.entries = List.copyOf(entries);
        this.waitsForDisk = waitsForDisk;
        int count = this.entries.size();
        long[] work = new long[count + 1];
        int followers = 0;
        boolean allSmall = true;
        for (int i = 0; i < count; i++) {
            boolean follows = i > 0 && follows(this.entries.get(i - 1), this.entries.get(i));
            followers += follows ? 1 : 0;
            allSmall &= isSmall(i);
            work[i + 1] = work[i] + this.entries.get(i).size() + (follows ? 0 : ENTRY_BYTES);
        }
        this.workBefore = work;
        this.small = allSmall;
        this.scattered = allSmall && 2 * followers < count;
    }

    /** Returns whether an entry begins where another one ends: one system call reads both. */
    private static boolean follows(BatchRequest before, BatchRequest entry) {
        return entry.file() == before.file() && entry.fileOffset() == before.fileOffset() + before.size();
    }

    CompatBatch batch() {
        return batch;
    }

    List<BatchRequest> entries() {
        return entries;
    }

    /** Returns the time of the submission, from {@link System#nanoTime}. */
    long submitted() {
        return submitted;
    }

    int size() {
        return entries.size();
    }

    /** Returns the work of all entries in bytes. */
    long work() {
        return workBefore[entries.size()];
    }

    /** Returns whether threads can claim several entries at a time. */
    boolean isDivisible() {
        return small || entries.size() >= MANY && isMergeable(0);
    }

    boolean waitsForDisk() {
        return waitsForDisk;
    }

    /** Returns whether each entry is likely to wait for the disk on its own: then threads sleep most of the time. */
    boolean isSpread() {
        return scattered && waitsForDisk;
    }

    private boolean isSmall(int entry) {
        return entries.get(entry).size() <= SMALL_BYTES;
    }

    private boolean isMergeable(int index) {
        BatchRequest entry = entries.get(index);
        return isSmall(index)
                || entries.size() >= MANY
                        && !entry.write()
                        && entry.memory().kind().isCuda()
                        && entry.size() <= Shares.LARGEST;
    }

    boolean hasUnclaimed() {
        return next.get() < entries.size();
    }

    /**
     * Claims some entries and runs them.
     *
     * @param shares how many entries to claim
     */
    void runSome(EntryRunner runner, Shares shares) {
        Claim claim = claim(shares);
        if (claim == null) {
            return;
        }
        boolean taken = false;
        try {
            runner.run(claim);
            taken = true;
        } catch (OutOfMemoryError e) {
            // The thread lives on: the entries that it has not ended fail, and a later entry may find memory.
        } finally {
            if (!taken) {
                claim.failRest();
            }
        }
    }

    private @Nullable Claim claim(Shares shares) {
        int from;
        int to;
        do {
            from = next.get();
            if (from >= entries.size()) {
                return null;
            }
            long end = workBefore[from] + shares.next(workBefore[from]);
            to = from + 1;
            while (to < entries.size()
                    && to - from < shares.mostEntries()
                    && workBefore[to + 1] <= end
                    && isMergeable(from)
                    && isMergeable(to)) {
                to++;
            }
        } while (!next.compareAndSet(from, to));
        return new Claim(this, from, to, shares.slabBytes());
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
