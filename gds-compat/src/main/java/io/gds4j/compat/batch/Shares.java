package io.gds4j.compat.batch;

/**
 * How many threads serve a submission, and how much of it a thread claims at a time. Work is measured in bytes that a thread could
 * read from the page cache meanwhile.
 *
 * <p>
 * The model: a thread reads 7 GB/s, and a link carries up to 50 GB/s, so that eight to twelve threads keep it busy. The submitting
 * thread wakes each in 2 to 3 microseconds, and it runs 15 to 45 microseconds later, in which another one reads 128 KiB and more.
 * Each copy costs the link 8 microseconds and takes a lock of the driver. So few threads serve little work, and shares are large.
 * The first ones are smaller, because the link is idle until one is read, and the last ones, so that threads end together.
 *
 * @param threads largest number of threads
 * @param mostEntries largest number of entries of a share
 * @param least work of the smallest share
 * @param first work of the first share of each thread
 * @param most work of the largest share
 * @param total work of the submission
 */
record Shares(int threads, int mostEntries, long least, long first, long most, long total) {

    /** Largest share, and largest entry that is merged with others: they fit into a slab. */
    static final long LARGEST = 4L << 20;

    private static final long KIB = 1024;

    /** Smallest share from memory. */
    private static final long WORTH_WAKING = 128 * KIB;

    /** Share of sequential reads from a disk, which serves several of them at the same time. */
    private static final long FROM_DISK = 64 * KIB;

    private static final long FIRST = 512 * KIB;

    /** Number of threads that keep memory and a link busy. */
    private static final int BUSY_THREADS = 12;

    /** Number of threads that the least work from memory is worth. More join for each {@link #PER_THREAD} bytes. */
    private static final int FEW_THREADS = 3;
    private static final long PER_THREAD = 1024 * KIB;

    /**
     * Divides a submission.
     *
     * @param threads largest number of threads that keep a disk busy with sequential reads
     * @param atOnce number of scattered entries from a disk that a thread takes at once
     */
    static Shares of(Submission submission, int threads, int atOnce) {
        int entries = submission.size();
        long total = submission.work();
        if (!submission.isDivisible()) {
            return new Shares(Math.min(threads, entries), entries, FROM_DISK, FROM_DISK, FROM_DISK, total);
        }
        if (submission.isSpread()) {
            // Threads of scattered reads sleep most of the time, and a drive serves many of these reads in parallel.
            return new Shares(
                    Math.min(2 * threads, Math.ceilDiv(entries, atOnce)), atOnce, LARGEST, 0, LARGEST, total);
        }
        if (submission.waitsForDisk()) {
            return new Shares(most(threads, entries, total, FROM_DISK), entries, FROM_DISK, FROM_DISK, FROM_DISK,
                    total);
        }
        long worth = FEW_THREADS + Math.ceilDiv(total, PER_THREAD);
        int limit = (int) Math.min(worth, Math.min(threads, BUSY_THREADS));
        int busy = most(limit, entries, total, WORTH_WAKING);
        long first = Math.clamp(total / (4L * busy), WORTH_WAKING, FIRST);
        return new Shares(busy, entries, WORTH_WAKING, first, LARGEST, total);
    }

    private static int most(int threads, int entries, long total, long least) {
        return Math.clamp(Math.ceilDiv(total, least), 1, Math.min(threads, entries));
    }

    /** Returns the work to claim next, after {@code claimed}. */
    long next(long claimed) {
        long fair = Math.max(least, (total - claimed) / threads);
        return Math.min(fair, claimed < threads * first ? first : most);
    }

    /** Returns the bytes of a slab in which every share of aligned entries fits. */
    long slabBytes() {
        return Math.max(first, Math.min(most, total / threads));
    }
}
