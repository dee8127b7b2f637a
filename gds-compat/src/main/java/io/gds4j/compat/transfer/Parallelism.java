package io.gds4j.compat.transfer;

import io.gds4j.config.ConfigKey;
import io.gds4j.config.ConfigSource;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;

/**
 * Decides how many threads serve requests. The machine decides unless the configuration does. Every value of the program and of the
 * environment counts; a value of the file counts if it differs from the default. The reason is that NVIDIA installs a file with all
 * defaults, which are too few threads for requests that copy.
 *
 * @param workers number of workers for each GPU; host memory uses those of the first GPU
 * @param perRequest largest number of threads on one request, including its caller
 * @param minimumBytes size from which on workers help with a request
 * @param processors number of processors of the machine
 */
public record Parallelism(int workers, int perRequest, long minimumBytes, int processors) {

    /** Largest number of threads without a configured one: more make neither the page cache nor a PCIe link faster. */
    private static final int MAX_AUTOMATIC_THREADS = 12;

    /**
     * Number of threads that keep a GPU's link busy. With several GPUs, more push each other's slabs out of the last-level cache.
     */
    private static final int MAX_BESIDE_OTHER_GPUS = 8;

    /** Number of threads of several requests that together keep memory and link busy: one request fills the gaps of another. */
    private static final int BUSY_THREADS = 8;

    private static final long KIB = 1024;
    private static final long MIN_PIECE_SIZE = 512 * KIB;

    /** Piece size of a thread that works alone because all others are busy: each piece takes a lock of the CUDA driver. */
    private static final long ALONE_PIECE_SIZE = 4096 * KIB;

    /**
     * Number of threads from which on small reads from memory use several. With fewer, a second thread takes at most half of the
     * work, and that gains less than waking it costs: one thread copies 1 MiB in 40 microseconds, and waking another takes 20.
     */
    private static final int ENOUGH_THREADS = 4;

    /** Smallest read from memory in bytes that uses a second thread on a machine with few. */
    private static final long WORTH_A_SECOND = 4096 * KIB;

    public static Parallelism of(CuFileConfig config, int processors) {
        long workers = isChosen(config, CuFileKeys.MAX_IO_THREADS)
                ? config.get(CuFileKeys.MAX_IO_THREADS)
                : Math.max(1, Math.min(processors, MAX_AUTOMATIC_THREADS) - 1);
        long perRequest = isChosen(config, CuFileKeys.MAX_REQUEST_PARALLELISM)
                ? Math.max(1, config.get(CuFileKeys.MAX_REQUEST_PARALLELISM))
                : workers + 1;
        long minimum = isChosen(config, CuFileKeys.MIN_IO_THRESHOLD_SIZE_KB)
                ? config.get(CuFileKeys.MIN_IO_THRESHOLD_SIZE_KB) * KIB
                : 0;
        boolean off = !config.get(CuFileKeys.PARALLEL_IO) || perRequest == 1;
        return new Parallelism(
                off ? 0 : (int) workers, (int) Math.min(perRequest, workers + 1), minimum, processors);
    }

    private static boolean isChosen(CuFileConfig config, ConfigKey<Long> key) {
        ConfigSource source = config.source(key);
        return source == ConfigSource.API
                || source == ConfigSource.ENVIRONMENT
                || source == ConfigSource.FILE && !config.get(key).equals(key.defaultValue());
    }

    /**
     * Returns the number of threads of a request beside others. Together, requests have no more threads than there are. Callers
     * that keep all processors busy gain nothing from workers that take turns with them, and lose the processors' caches.
     *
     * @param requests number of requests at work, including this one
     */
    int share(int requests) {
        int alone = workers + 1;
        int each = requests < 2 ? alone : Math.min(alone / requests, Math.ceilDiv(BUSY_THREADS, requests));
        return Math.clamp(each, 1, perRequest);
    }

    /**
     * Returns the number of threads of a request while other requests use other GPUs.
     *
     * @param requests number of requests at work with the same GPU, including this one
     * @param gpus number of GPUs at work
     */
    int share(int requests, int gpus) {
        int alone = share(requests);
        return gpus < 2 ? alone : Math.min(alone, Math.clamp(processors / gpus, 1, MAX_BESIDE_OTHER_GPUS));
    }

    /**
     * Returns whether the request is large enough for several threads.
     *
     * @param largest largest size of a piece in bytes, a power of two
     */
    boolean mayShare(long size, long largest) {
        return size > Math.min(MIN_PIECE_SIZE, largest) && size >= minimumBytes && workers > 0;
    }

    /** Returns whether one thread serves a request of host memory best on this machine, wherever its bytes are. */
    boolean isSmall(long size) {
        return size < WORTH_A_SECOND && perRequest < ENOUGH_THREADS;
    }

    /**
     * Returns the best number of threads for a request that is served from memory. The time to wake threads grows with their
     * number, and the share of each shrinks. So the best number grows with the square root of the size: 2 for 1 MiB, 8 for 16
     * MiB, 12 from 36 MiB on.
     */
    static int worthwhile(long size) {
        return Math.max(2, 2 * (int) Math.sqrt(size / (KIB * KIB)));
    }

    /**
     * Returns the piece size of a request: small enough that all threads get some, large enough that waking a thread for one
     * pays. A single thread gains from pieces, too: one is copied while the next is read.
     *
     * @param each number of pieces for each thread; with more of them, threads end closer together
     * @param largest bytes of a slab, a power of two
     */
    long pieceSize(long size, int threads, int each, long largest) {
        if (!mayShare(size, largest)) {
            return largest;
        }
        long share = Math.max(MIN_PIECE_SIZE, Long.highestOneBit(size / ((long) each * threads)));
        return Math.min(largest, threads == 1 ? Math.min(ALONE_PIECE_SIZE, share) : share);
    }

    /** Returns whether several threads pay for a request of this size. */
    boolean shares(long pieces, long bytes) {
        return workers > 0 && pieces > 1 && bytes >= minimumBytes;
    }
}
