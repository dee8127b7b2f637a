package io.gds4j.compat.batch;

import io.gds4j.compat.batch.Submission.Kind;
import io.gds4j.engine.machine.TransferCosts;

/**
 * How many threads serve a submission, and how much of it a thread claims at a time.
 *
 * <p>
 * Reads from the page cache to GPU memory that are adjacent in a file become requests of up to 16 MiB, which have workers of their own
 * ({@link Submission.Kind#ADJACENT}). A few of them at a time keep the link busy.
 *
 * <p>
 * Other large reads from the page cache into GPU memory are grouped ({@link Submission.Kind#GROUPED}). By the model of
 * {@link TransferCosts}, eight to twelve threads keep a link busy. Each copy costs the link 8 microseconds and takes a lock of the driver,
 * so that shares are large. The first ones are smaller, because the link is idle until one is read, and the last ones, so that
 * threads end together. With 1 MiB this reaches 35 GB/s, where single entries reach 22.
 *
 * <p>
 * Smaller entries are claimed by number, and waited for at once: shares by bytes, on more threads and with overlapped copies, were slower
 * (64 KiB 9.6 instead of 13.5 GB/s, 4 KiB in order 1.7 instead of 1.4 microseconds each, from a disk 15 instead of 13).
 *
 * @param threads largest number of threads
 * @param threadsForAll largest number of threads for this submission and others like it
 * @param smallEntries largest number of small entries of a share
 * @param first bytes of the first share of each thread of a grouped submission
 * @param total bytes of a grouped submission
 */
record Shares(int threads, int threadsForAll, int smallEntries, long first, long total) {

    /** Largest number of small entries that a thread takes at once. */
    static final int MAX_SMALL = 16;

    /**
     * Divides a submission.
     *
     * @param most largest number of threads, which keeps a disk busy
     * @param perThread number of small entries for which one more thread pays
     */
    static Shares of(Submission submission, int most, int perThread) {
        int entries = submission.size();
        if (submission.kind() == Kind.ADJACENT) {
            return new Shares(Math.min(TransferCosts.BUSY_REQUESTS, Math.min(most, submission.requests())), most, 1, 0,
                    0);
        }
        if (submission.kind() == Kind.GROUPED) {
            int threads = Math.min(Math.min(most, TransferCosts.MEASURED.mostThreads()), entries);
            long total = submission.bytes();
            return new Shares(threads, most, 1,
                    Math.clamp(total / (4L * threads), TransferCosts.MIN_SHARE, TransferCosts.FIRST_SHARE), total);
        }
        // Threads of scattered reads sleep most of the time, and a drive serves many of these reads in parallel.
        boolean spread = submission.kind() == Kind.SPREAD;
        int forAll = spread ? 2 * most : most;
        int forSmall = spread ? forAll : Math.min(most, TransferCosts.THREADS_FOR_SMALL);
        int threads = submission.kind() == Kind.LARGE
                ? Math.min(most, entries)
                : Math.min(forSmall, Math.ceilDiv(entries, perThread));
        // Few enough that each thread gets some, and enough to pay for waking it.
        int share = Math.clamp(Math.ceilDiv(entries, forSmall), perThread, Math.max(perThread, MAX_SMALL));
        return new Shares(threads, forAll, share, 0, 0);
    }

    /** Returns the bytes of a grouped submission to claim next, after {@code claimed}. */
    long next(long claimed) {
        long fair = Math.max(TransferCosts.MIN_SHARE, (total - claimed) / threads);
        return Math.min(fair, claimed < threads * first ? first : TransferCosts.MAX_SHARE);
    }

    /** Returns the bytes of a slab in which every share of aligned entries of a grouped submission fits. */
    long slabBytes() {
        return Math.max(first, Math.min(TransferCosts.MAX_SHARE, total / threads));
    }
}
