package io.gds4j.engine.machine;

/**
 * What moving bytes costs: the constants of the model by which {@code TransferCourse} decides, and every other number of the engine that is a
 * time, a rate, or a threshold that follows from one. A new machine or GPU needs a look at this class alone. Measured on a machine with one
 * H200, 16 processors, two megabytes of second-level cache each and a PCIe 5 link, unless a constant says otherwise; docs/notes/engine.md
 * explains the model and its figures.
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

    // Copies by an engine.

    /** Largest copy in bytes for which spinning is cheaper than sleeping. */
    public static final long COPY_SPIN_BYTES = 64 << 10;

    /** Shortest time between polls. */
    public static final long COPY_POLL_NANOS = 2_000;

    /** Twice what a fast link copies in a nanosecond: the time between polls is half of the time that the copy takes. */
    public static final long COPY_BYTES_PER_POLL_NANO = 100;

    /** A poll takes a microsecond and a lock of the driver: many threads may wait for their streams. */
    public static final long EVENT_PAUSE_NANOS = 20_000;
    public static final long EVENT_MAX_PAUSE_NANOS = 2_000_000;

    /** Number of polls before a blocking wait. Together they should last several times as long as the copy takes on an idle link. */
    public static final int EVENT_POLLS = 32;

    /** Time between polls of a copy. */
    public static final long STREAM_THREAD_POLL_NANOS = 10_000;

    /** Smallest copy in bytes for which passing pieces on pays: less than a piece goes to every GPU from the slab. */
    public static final long PEER_BYTES = 1L << 20;

    /**
     * Largest piece in bytes of cached bytes for several GPUs, whose copies fetch it while it is in a processor's second-level cache. On four
     * H200 with 64 processors, loads to all of them read 58 GB/s in pieces of 4 MiB, 79 in 2 MiB, and 68 in 1 MiB; loads to two 60, 79 and 53.
     * One GPU, whose link is the limit, loses 8 % with 2 MiB.
     */
    public static final long SPREAD_PIECE = 2L << 20;

    /**
     * Number of GPUs of a request from which on a thread waits for the copies of a piece before it reads the next one: others read
     * meanwhile. With two pieces for each of 60 threads, pieces leave the last-level cache before they are copied: 271 GB/s instead of 300.
     */
    public static final int MANY_GPUS = 4;

    /** Time that a copy is polled before a blocking wait. At 25 GB/s the copy of a half takes 40 µs. */
    public static final long HALF_SPIN_NANOS = 50_000;

    // Kernels that copy a request.

    /**
     * Bytes of each reading thread that blocks of the kernel wait for, if there are few. More blocks take the places of others and read over
     * the bus while they wait: an H100 has places for 264, and with 128 for a request of 2 MiB, two of twelve callers kept the kernels of the
     * others out.
     */
    public static final long GATHER_AHEAD = 256 << 10;

    /** Largest number of readers of a request that has many others beside it. Four callers of 16 MiB lose 7 % with half of the blocks. */
    public static final int FEW_READERS = 2;

    /** Looks at the board before the driver is asked how the kernel does: each question takes a lock that launches of others need. */
    public static final int GATHER_QUIET_LOOKS = 16;

    /** Time between two looks in nanoseconds: at first, and once it is clear that it takes longer. */
    public static final long GATHER_PAUSE_NANOS = 5_000;
    public static final long GATHER_LONG_PAUSE_NANOS = 20_000;

    /** How long the kernel may copy nothing after the last piece has arrived, in nanoseconds: on an idle GPU it begins in a hundredth. */
    public static final long GATHER_PATIENCE_NANOS = 2_000_000;

    /** Fewest fragments of a slab that one kernel copies: fewer calls of the driver take no longer than a launch. */
    public static final int MIN_FRAGMENTS = 4;

    /**
     * Largest fragment in bytes of a slab that a kernel copies: a copy engine needs no help with longer ones. One of 3 MiB beside 128 short ones
     * takes a kernel 8 ms, as every fragment has as many blocks, and copies by engines stand still meanwhile.
     */
    public static final long MAX_FRAGMENTS = 256 << 10;

    /** How long copy engines serve requests after a kernel could not begin in time, in nanoseconds. */
    public static final long GATHER_REST_NANOS = 1_000_000_000;

    /** A launch that takes longer waits for its kernel, as launches do under a debugger: the launching thread reads nothing meanwhile. */
    public static final long SLOW_LAUNCH_NANOS = 250_000_000;

    /** How long copy engines serve requests then, in nanoseconds. */
    public static final long GATHER_LONG_REST_NANOS = 60 * GATHER_REST_NANOS;

    /** 16 blocks copy what processors have just written a sixth slower; 128 are no faster. */
    public static final int COPY_KERNEL_BLOCKS = 64;

    // Streams.

    /** The next operation of a busy stream is reached at once, and sleeping would take longer than the operation. */
    public static final long TURN_SPIN_NANOS = 50_000;

    /** A copy of 16 MiB takes about as long; a blocking wait ends up to 100 microseconds late. */
    public static final long TURN_COPY_SPIN_NANOS = 400_000;

    /** The copy then waits for other work of the GPU. */
    public static final long TURN_COPY_PAUSE_NANOS = 50_000;

    /** The bell of a read rings about 40 microseconds after the copy before it has begun, which takes as long as one more copy. */
    public static final long BELL_SPIN_NANOS = 60_000;
    public static final long BELL_PAUSE_NANOS = 10_000;

    /** The bell is no use later: the program has put other work before the read. */
    public static final long BELL_NANOS = 2_000_000;

    /** A kernel under way copies a piece in about that time, and a sleep takes as long. */
    public static final long TOLD_SPIN_NANOS = 60_000;

    /** Time between two looks at what is copied after that, and between two questions for the event of the copy, in nanoseconds. */
    public static final long TOLD_PAUSE_NANOS = 10_000;
    public static final long TOLD_ASKS_AFTER_NANOS = 1_000_000;

    /** Largest piece in bytes: several blocks of the kernel share what arrives at once. */
    public static final long TOLD_MAX_PIECE = 256 << 10;

    /** Time between two looks at whether a host stream that closes has ended its operations. */
    public static final long HOST_STREAM_POLL_NANOS = 50_000;

    /** Smallest piece in bytes that a kernel has blocks for. */
    public static final long STREAM_MIN_PIECE = 64 << 10;

    // Requests and the page cache.

    /** Largest direct request in bytes that is checked exactly. For longer ones, all threads check their pieces in parallel. */
    public static final long ASKED_AT_ONCE = 64L << 20;

    /** Smallest request in bytes that may flood the page cache. Shorter ones do not pay for reading the machine's free memory. */
    public static final long MAY_FLOOD = 64L << 20;

    /**
     * Largest number of threads that write to a file through the page cache. A write from a GPU has one thread, because the copy engine
     * fetches the next piece meanwhile.
     */
    public static final int CACHE_WRITERS = 2;

    /**
     * Pieces for each thread of a staged request: one is read while the other is copied. Where other requests keep the link busy
     * meanwhile, one long piece is better: a GPU reads slowly what is still in a processor's second-level cache.
     */
    public static final int STAGED_PIECES = 2;

    /** Pieces for each thread of a request whose pieces one kernel copies: threads wake one after the other, and a piece costs little. */
    public static final int GATHERED_PIECES = 3;

    /** Pieces for each thread of other requests: threads wake one after the other, and the first ones move more. */
    public static final int UNSTAGED_PIECES = 4;

    /** Number of threads from which on small requests of host memory use several: with fewer, a second one takes at most half. */
    public static final int ENOUGH_THREADS = 4;

    /** Smallest request of host memory in bytes for which a second thread pays where there are few. */
    public static final long WORTH_A_SECOND = 4L << 20;

    // Batches.

    /** Largest entry in bytes of which a thread claims several at a time, whatever its memory and direction. */
    public static final long SMALL_ENTRY = 64 << 10;

    /** Smallest and largest entry in bytes that is grouped with others of its size. */
    public static final long MIN_GROUPED = 256 << 10;
    public static final long MAX_GROUPED = 4 << 20;

    /** Smallest and largest number of bytes that are read as one request: they have several threads, and those share one kernel. */
    public static final long MIN_TOGETHER = 4 << 20;
    public static final long MAX_TOGETHER = 16 << 20;

    /** Smallest number of entries that are grouped. Workers serve fewer ones better, each in pieces. */
    public static final int MANY_ENTRIES = 8;

    /** Number of threads for small entries in the page cache: more threads wake when those entries are already done. */
    public static final int THREADS_FOR_SMALL = 8;

    /** Number of requests of adjacent entries that keep a link busy. */
    public static final int BUSY_REQUESTS = 4;

    /** Smallest and largest share of a grouped submission. The largest fits into a slab. */
    public static final long MIN_SHARE = 128 << 10;
    public static final long MAX_SHARE = 4L << 20;

    /** Largest first share. */
    public static final long FIRST_SHARE = 512 << 10;

    // The model.

    /** Copies may cost this part of the time in which their bytes are read. */
    private static final int COPY_PART = 8;

    /** Threads may join a request later if its copies alone take as long as starting this many threads. */
    private static final int JOINS = 16;

    /** Smallest number of threads that pays. Of two, the second saves only what starting a kernel costs. */
    private static final int MIN_TOGETHER_THREADS = 3;

    /** A request may wait for its last piece. The wait may cost as much as this number of threads. */
    private static final int LAST_PIECE = 2;

    /** Returns how many threads keep a GPU's link busy: as many as read what it moves, and one that waits for its copy. */
    public int linkThreads() {
        return (int) Math.ceil(linkBytesPerNano / readBytesPerNano) + 1;
    }

    /** Returns the largest number of threads that a request gains from. At any time, half of the threads that keep the link busy wait for copies. */
    public int mostThreads() {
        return linkThreads() * 3 / 2;
    }

    /**
     * Returns the best number of threads for bytes in memory. With n of them reading takes {@code bytes / (n * read)}, and on average
     * half of them are waited for, which takes {@code n * thread / 2}. The sum is least for the root of
     * {@code 2 * bytes / (read * thread)}.
     *
     * @param gathered true if one kernel copies all pieces
     */
    public int bestThreads(long bytes, boolean gathered) {
        long nanos = gathered ? gatheredThreadNanos : threadNanos;
        return Math.max(1, (int) Math.sqrt(2 * bytes / (readBytesPerNano * nanos)));
    }

    /** Returns the size in bytes from which on several threads serve a request: that for which the smallest number is the best one. */
    public long sharedBytes() {
        return (long) (MIN_TOGETHER_THREADS * MIN_TOGETHER_THREADS * readBytesPerNano * gatheredThreadNanos / 2);
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
    public boolean paysKernel(long bytes, int requests) {
        double read = bytes / readBytesPerNano;
        return read >= kernelNanos || bytes >= leastGathered() && requests * launchNanos >= kernelNanos + read;
    }

    /** Returns the bytes of the smallest piece, a power of two: starting its copy costs little beside reading it. */
    public long smallestPiece() {
        return powerOfTwo(COPY_PART * copyNanos * readBytesPerNano);
    }

    /** Returns the bytes of the smallest piece that a kernel copies with others, a power of two. */
    public long smallestGathered() {
        return powerOfTwo(COPY_PART * gatheredPieceNanos * readBytesPerNano);
    }

    /** Returns the bytes of the largest piece that a kernel copies with others, a power of two: all wait for the last one. */
    public long largestGathered() {
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
    public long longestPiece() {
        return powerOfTwo(interruptNanos * readBytesPerNano);
    }

    /** Returns the size in bytes from which on a request lasts long enough for threads to join it later. */
    public long joinableBytes() {
        return (long) (JOINS * threadNanos * linkBytesPerNano);
    }

    private static long powerOfTwo(double bytes) {
        return Long.highestOneBit((long) bytes);
    }
}
