package io.gds4j.compat.batch;

import io.gds4j.engine.machine.TransferCosts;
import io.gds4j.error.Errno;
import io.gds4j.source.Cancellation;
import io.gds4j.spi.BatchEvent;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.BatchStatus;
import io.gds4j.spi.ResultSink;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The entries of one {@code cuFileBatchIOSubmit}: threads claim some, run them and report them to the batch together. */
final class Submission implements Cancellation {
    /** How the entries are served. */
    enum Kind {
        /** Cached reads into GPU memory in stretches of a file: each stretch is one request, and who waits for events serves it, too. */
        ADJACENT,
        /** Cached reads of medium size into GPU memory: a thread reads several into one slab, and the next ones while they are copied. */
        GROUPED,
        /** Small ones: a thread takes several at a time. */
        SMALL,
        /** Small ones that wait for a disk, all over a file: all threads serve them, because each sleeps most of the time. */
        SPREAD,
        /** One at a time. Small ones among them are taken together. */
        LARGE
    }

    /** Of a thread that may read everything. */
    static final Predicate<List<BatchRequest>> ANY = entries -> true;

    private final CompatBatch batch;
    private final List<BatchRequest> entries;
    private final Kind kind;
    private final long submitted = System.nanoTime();
    private final long cancelsBefore;

    /** Whether an entry has a report. */
    private final boolean reported;

    /** The bytes before each entry, and those of all. */
    private final long[] bytesBefore;

    private final AtomicInteger next = new AtomicInteger();

    /**
     * Creates a submission that does not run yet.
     *
     * @param waitsForDisk true if threads are likely to sleep until a disk answers
     */
    Submission(CompatBatch batch, List<BatchRequest> entries, boolean waitsForDisk) {
        this.batch = batch;
        this.cancelsBefore = batch.cancels();
        this.entries = List.copyOf(entries);
        this.kind = kind(this.entries, waitsForDisk);
        this.bytesBefore = new long[entries.size() + 1];
        boolean hasReport = false;
        for (int i = 0; i < entries.size(); i++) {
            bytesBefore[i + 1] = bytesBefore[i] + entries.get(i).size();
            hasReport |= entries.get(i).sink() != ResultSink.NONE;
        }
        this.reported = hasReport;
    }

    /** Returns what hears of the bytes of adjacent entries that are moved together. */
    ResultSink sinkOf(List<BatchRequest> adjacent) {
        if (!reported) {
            return ResultSink.NONE;
        }
        return (path, fileOffset, bytes) -> {
            for (BatchRequest entry : adjacent) {
                long from = Math.max(fileOffset, entry.fileOffset());
                long to = Math.min(fileOffset + bytes, entry.fileOffset() + entry.size());
                if (from < to) {
                    entry.sink().moved(path, from, to - from);
                }
            }
        };
    }

    private static Kind kind(List<BatchRequest> entries, boolean waitsForDisk) {
        if (!waitsForDisk && isAdjacent(entries)) {
            return Kind.ADJACENT;
        }
        if (!waitsForDisk && entries.size() >= TransferCosts.MANY_ENTRIES
                && entries.stream().allMatch(Submission::isGroupable)) {
            return Kind.GROUPED;
        }
        if (entries.stream().allMatch(Submission::isSmall)) {
            return waitsForDisk && 2 * followers(entries) < entries.size() ? Kind.SPREAD : Kind.SMALL;
        }
        return Kind.LARGE;
    }

    private static boolean isSmall(BatchRequest entry) {
        return entry.size() <= TransferCosts.SMALL_ENTRY;
    }

    private static boolean isGroupable(BatchRequest entry) {
        return !entry.write()
                && entry.memory().kind().isCuda()
                && entry.size() >= TransferCosts.MIN_GROUPED
                && entry.size() <= TransferCosts.MAX_GROUPED;
    }

    /** Returns whether all entries read stretches of a file into GPU memory that are worth a request of their own. */
    private static boolean isAdjacent(List<BatchRequest> entries) {
        long bytes = TransferCosts.MIN_TOGETHER;
        for (int i = 0; i < entries.size(); i++) {
            BatchRequest entry = entries.get(i);
            if (entry.write()
                    || entry.size() < 1
                    || entry.size() > TransferCosts.MAX_GROUPED
                    || !entry.memory().kind().isCuda()) {
                return false;
            }
            boolean continues = i > 0 && follows(entries.get(i - 1), entry);
            if (!continues && bytes < TransferCosts.MIN_TOGETHER) {
                return false;
            }
            bytes = continues ? bytes + entry.size() : entry.size();
        }
        return bytes >= TransferCosts.MIN_TOGETHER;
    }

    /** Returns the number of entries that begin where the previous one ends: one thread reads those best. */
    private static int followers(List<BatchRequest> entries) {
        int count = 0;
        for (int i = 1; i < entries.size(); i++) {
            count += follows(entries.get(i - 1), entries.get(i)) ? 1 : 0;
        }
        return count;
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

    /** Returns the bytes of all entries. */
    long bytes() {
        return bytesBefore[entries.size()];
    }

    Kind kind() {
        return kind;
    }

    /** Returns the number of requests that adjacent entries make. */
    int requests() {
        return Math.toIntExact(Math.ceilDiv(bytes(), TransferCosts.MAX_TOGETHER));
    }

    /** Returns whether the batch was cancelled since. */
    @Override
    public boolean isCancelled() {
        return batch.cancels() != cancelsBefore;
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
        runSome(runner, shares, ANY);
    }

    /**
     * Claims some entries, those of a stretch if they are {@link Kind#ADJACENT}, and runs them if the caller may.
     *
     * @param mayRead tells whether the caller may read entries that are adjacent
     * @return false if it may not
     */
    boolean runSome(EntryRunner runner, Shares shares, Predicate<List<BatchRequest>> mayRead) {
        Claim claim = claim(shares, mayRead);
        if (claim == null) {
            return !hasUnclaimed();
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
        return true;
    }

    /** Returns null if no entry is left, or if the caller may not read the stretch of the claim. */
    private @Nullable Claim claim(Shares shares, Predicate<List<BatchRequest>> mayRead) {
        int from;
        int to;
        do {
            from = next.get();
            if (from >= entries.size()) {
                return null;
            }
            to = from + 1;
            while (to < entries.size() && isShared(from, to, shares)) {
                to++;
            }
            if (!mayRead.test(entries.subList(from, to))) {
                return null;
            }
        } while (!next.compareAndSet(from, to));
        return new Claim(this, from, to, shares.slabBytes());
    }

    /** Returns whether a share that begins at an entry includes another one. */
    private boolean isShared(int from, int entry, Shares shares) {
        long bytes = bytesBefore[entry + 1] - bytesBefore[from];
        return switch (kind) {
            case ADJACENT ->
                follows(entries.get(entry - 1), entries.get(entry)) && bytes <= TransferCosts.MAX_TOGETHER;
            case GROUPED -> bytes <= shares.next(bytesBefore[from]);
            case SMALL, SPREAD, LARGE -> entry - from < shares.smallEntries()
                    && isSmall(entries.get(from)) && isSmall(entries.get(entry));
        };
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
                    .map(Submission::cancelled)
                    .toList();
        } while (!next.compareAndSet(from, entries.size()));
        return events;
    }

    /** Returns the event of an entry that was cancelled before it began. */
    static BatchEvent cancelled(BatchRequest entry) {
        return new BatchEvent(entry.cookie(), BatchStatus.CANCELED, -Errno.ECANCELED);
    }
}
