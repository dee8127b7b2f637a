package io.gds4j.compat.plan;

/**
 * What moving bytes costs: the constants of the model by which {@link TransferCourse} decides. Measured on a machine with one H200, 16
 * processors, two megabytes of second-level cache each and a PCIe 5 link; docs/performance.md explains the model and its figures.
 *
 * @param readBytesPerNano bytes that one thread reads from the page cache in a nanosecond
 * @param linkBytesPerNano bytes that a GPU's link moves in a nanosecond
 * @param threadNanos what one more thread costs a request: it is woken after others, and all wait for the last one
 * @param copyNanos what a copy to a GPU takes beside the link's time
 * @param gatheredThreadNanos what one more thread costs a request whose pieces one kernel copies: its second-level cache does not matter
 * @param gatheredPieceNanos what a piece of such a request costs beside reading it
 * @param kernelNanos what passes until a kernel begins to copy; its caller reads meanwhile
 * @param launchNanos for how long launching a kernel, or copying a little, keeps other threads from the driver
 * @param cacheBytes bytes that stay in the processors' last-level cache until a GPU has read them
 * @param interruptNanos longest time for which a thread does not look whether it was interrupted
 */
public record TransferCosts(
        double readBytesPerNano,
        double linkBytesPerNano,
        long threadNanos,
        long copyNanos,
        long gatheredThreadNanos,
        long gatheredPieceNanos,
        long kernelNanos,
        long launchNanos,
        long cacheBytes,
        long interruptNanos) {

    public static final TransferCosts MEASURED =
            new TransferCosts(8, 55, 65_000, 8_200, 12_000, 1_000, 12_000, 4_000, 128L << 20, 10_000_000);

    /** Copies may cost this part of the time in which their bytes are read. */
    private static final int COPY_PART = 8;

    /** A request lasts long enough for threads to join it later if its copies alone take as long as so many threads cost. */
    private static final int JOINS = 16;

    /** Smallest number of threads that pays. Of two, the second saves only what starting a kernel costs. */
    private static final int FEWEST_TOGETHER = 3;

    /** A request may wait for its last piece. The wait may cost as much as this number of threads. */
    private static final int LAST_PIECE = 2;

    /** Returns how many threads keep a GPU's link busy: as many as read what it moves, and one that waits for its copy. */
    int linkThreads() {
        return (int) Math.ceil(linkBytesPerNano / readBytesPerNano) + 1;
    }

    /** Returns the largest number of threads that a request gains from: half of those that keep the link busy wait for copies. */
    int mostThreads() {
        return linkThreads() * 3 / 2;
    }

    /**
     * Returns the best number of threads for bytes in memory. With n of them reading takes {@code bytes / (n * read)}, and on average
     * half of them are waited for, which takes {@code n * thread / 2}. The sum is least for the root of
     * {@code 2 * bytes / (read * thread)}.
     *
     * @param gathered true if one kernel copies all pieces
     */
    int bestThreads(long bytes, boolean gathered) {
        long nanos = gathered ? gatheredThreadNanos : threadNanos;
        return Math.max(1, (int) Math.sqrt(2 * bytes / (readBytesPerNano * nanos)));
    }

    /** Returns the size in bytes from which on several threads serve a request: that for which the smallest number is the best one. */
    long sharedBytes() {
        return (long) (FEWEST_TOGETHER * FEWEST_TOGETHER * readBytesPerNano * gatheredThreadNanos / 2);
    }

    /** Returns the size in bytes of the smallest request that a kernel may copy: reading it takes as long as the launch. */
    public long leastGathered() {
        return (long) (launchNanos * readBytesPerNano);
    }

    /**
     * Returns whether a kernel copies a request at least as fast as a copy engine. That is so if the kernel begins while the request is
     * read, or if the launches of all requests take as long as one request: then they wait for the driver, which copies keep longer.
     *
     * @param requests number of requests at work that copy to the same GPU, including this one
     */
    boolean paysKernel(long bytes, int requests) {
        double read = bytes / readBytesPerNano;
        return read >= kernelNanos || bytes >= leastGathered() && requests * launchNanos >= kernelNanos + read;
    }

    /** Returns the bytes of the smallest piece, a power of two: starting its copy costs little beside reading it. */
    long smallestPiece() {
        return powerOfTwo(COPY_PART * copyNanos * readBytesPerNano);
    }

    /** Returns the bytes of the smallest piece that a kernel copies with others, a power of two. */
    long smallestGathered() {
        return powerOfTwo(COPY_PART * gatheredPieceNanos * readBytesPerNano);
    }

    /** Returns the bytes of the largest piece that a kernel copies with others, a power of two: all wait for the last one. */
    long largestGathered() {
        return powerOfTwo(LAST_PIECE * gatheredThreadNanos * readBytesPerNano);
    }

    /**
     * Returns whether slabs may hold all bytes of the requests at work until kernels have copied them.
     *
     * @param bytes bytes of these requests
     */
    public boolean fitsCache(long bytes) {
        return bytes <= cacheBytes;
    }

    /** Returns the bytes of the largest piece that one thread reads from memory, a power of two. */
    long longestPiece() {
        return powerOfTwo(interruptNanos * readBytesPerNano);
    }

    /** Returns the size in bytes from which on a request lasts long enough for threads to join it later. */
    long joinableBytes() {
        return (long) (JOINS * threadNanos * linkBytesPerNano);
    }

    private static long powerOfTwo(double bytes) {
        return Long.highestOneBit((long) bytes);
    }
}
