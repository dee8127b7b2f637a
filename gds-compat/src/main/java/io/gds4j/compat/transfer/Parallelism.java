package io.gds4j.compat.transfer;

import io.gds4j.config.ConfigKey;
import io.gds4j.config.ConfigSource;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;

/**
 * How many threads work, and on what. Derived from the machine unless somebody chose: by the program or the environment any
 * value, in the file one that differs from the default. NVIDIA installs a file that spells the defaults out, and those are too
 * few threads for a request that copies: they are nobody's choice.
 *
 * @param workers threads for each GPU beside the callers; host memory has those of the first
 * @param perRequest threads on one request at most, its caller included
 * @param minimumBytes requests below this size are their caller's alone
 * @param processors of the machine
 */
public record Parallelism(int workers, int perRequest, long minimumBytes, int processors) {

    /** More threads than this make neither the page cache nor a PCIe link any faster. */
    private static final int MAX_AUTOMATIC_THREADS = 12;

    /** So many keep a GPU's link busy. More, of several GPUs, push each other's slabs out of the last-level cache. */
    private static final int MOST_BESIDE_OTHER_GPUS = 8;

    /** So many in all keep memory and link busy when several requests are at work: one's threads fill the gaps of another's. */
    private static final int BUSY_THREADS = 8;

    private static final long KIB = 1024;
    private static final long MIN_PIECE_SIZE = 512 * KIB;

    /** Piece size of a thread that works alone because all others are busy: each piece takes a lock of the GPU's driver. */
    private static final long ALONE_PIECE_SIZE = 4096 * KIB;

    /**
     * With fewer threads a second one takes half of the work at best. Reads from memory below {@link #WORTH_A_SECOND} then cost
     * more than they gain: one thread copies 1 MiB in 40 microseconds, and waking another takes 20.
     */
    private static final int ENOUGH_THREADS = 4;

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
     * Threads of a request beside others: together they have no more than there are, because callers that keep all processors
     * busy gain nothing from workers that take turns with them, and lose the processors' caches.
     *
     * @param requests at work, this one included
     */
    int share(int requests) {
        int alone = workers + 1;
        int each = requests < 2 ? alone : Math.min(alone / requests, Math.ceilDiv(BUSY_THREADS, requests));
        return Math.clamp(each, 1, perRequest);
    }

    /**
     * Threads of a request while others read into or write from other GPUs.
     *
     * @param requests at work with the same GPU, this one included
     * @param gpus at work
     */
    int share(int requests, int gpus) {
        int alone = share(requests);
        return gpus < 2 ? alone : Math.min(alone, Math.clamp(processors / gpus, 1, MOST_BESIDE_OTHER_GPUS));
    }

    /**
     * True if the request is worth several threads, as far as its size tells.
     *
     * @param largest bytes of a piece at most, a power of two
     */
    boolean mayShare(long size, long largest) {
        return size > Math.min(MIN_PIECE_SIZE, largest) && size >= minimumBytes && workers > 0;
    }

    /** True if one thread serves a request of host memory best on this machine, wherever its bytes are. */
    boolean isSmall(long size) {
        return size < WORTH_A_SECOND && perRequest < ENOUGH_THREADS;
    }

    /**
     * Threads that a request served from memory gains from: the time that waking them takes grows with their number, and the
     * share of each shrinks with it, so that the best number grows with the square root of the size: 2 for 1 MiB, 8 for 16 MiB,
     * 12 from 36 MiB on.
     */
    static int worthwhile(long size) {
        return Math.max(2, 2 * (int) Math.sqrt(size / (KIB * KIB)));
    }

    /**
     * How large the pieces of a request are: small enough that all threads get some, large enough that waking a thread for one
     * pays. A single thread, too, profits from pieces: one is copied while the next is read.
     *
     * @param each pieces for each thread of a request that all begin at once; more of them end at the same time
     * @param largest what a slab holds, a power of two
     */
    long pieceSize(long size, int threads, int each, long largest) {
        if (!mayShare(size, largest)) {
            return largest;
        }
        long share = Math.max(MIN_PIECE_SIZE, Long.highestOneBit(size / ((long) each * threads)));
        return Math.min(largest, threads == 1 ? Math.min(ALONE_PIECE_SIZE, share) : share);
    }

    /** True if a request of this size is worth several threads. */
    boolean shares(long pieces, long bytes) {
        return workers > 0 && pieces > 1 && bytes >= minimumBytes;
    }
}
