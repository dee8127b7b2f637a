package io.gds4j.tools.io;

import java.util.SplittableRandom;

/**
 * Where one thread reads and writes: its share of the range, request after request, or as many random places anywhere in the
 * range. The same seed gives the same places.
 */
final class OffsetSequence {
    private static final long THREAD_SEED = 0x9E3779B97F4A7C15L;

    private final IoJob job;
    private final long first;
    private final long length;
    private final long size;
    private final long from;
    private final long to;
    private final long granule;
    private final long seed;
    private SplittableRandom random;
    private long next;

    /**
     * A thread's share.
     *
     * @param first first byte of the range
     * @param length bytes of the range, {@code size} or more
     * @param size of a request
     * @param share number of the share, of {@code shares}
     */
    OffsetSequence(IoJob job, long first, long length, long size, int share, int shares, long seed) {
        long requests = Math.ceilDiv(length, size);
        this.job = job;
        this.first = first;
        this.length = length;
        this.size = size;
        this.from = part(requests, share, shares);
        this.to = part(requests, share + 1, shares);
        this.granule = job.unaligned() ? 1 : job.alignment();
        this.seed = seed + THREAD_SEED * (share + 1);
        this.random = new SplittableRandom(this.seed);
        this.next = from;
    }

    private static long part(long requests, int share, int shares) {
        return requests / shares * share + requests % shares * share / shares;
    }

    /** To the very beginning. */
    void restart() {
        random = new SplittableRandom(seed);
        next = from;
    }

    /** Begins another pass; random places go on being new ones. */
    void nextPass() {
        next = from;
    }

    /** Sets a request's place, size and direction; false at the end of the pass. */
    boolean next(IoRequest request) {
        if (next >= to) {
            return false;
        }
        if (job.operation().random()) {
            long places = (length - size) / granule + 1;
            request.fileOffset = first + random.nextLong(places) * granule;
            request.size = size;
        } else {
            request.fileOffset = first + next * size;
            request.size = Math.min(size, length - next * size);
        }
        Integer readPercent = job.readPercent();
        request.write = readPercent == null ? job.operation().writes() : random.nextInt(100) >= readPercent;
        next++;
        return true;
    }
}
