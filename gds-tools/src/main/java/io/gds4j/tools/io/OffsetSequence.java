package io.gds4j.tools.io;

import io.gds4j.dataset.RecordOrder;
import java.util.SplittableRandom;

/**
 * File offsets of one thread: its share of the range in sequence, or the same number of random offsets anywhere in the
 * range, or its share of all blocks in random order. The same seed gives the same offsets.
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
    private final long requests;
    private final RecordOrder blocks;
    private SplittableRandom random;
    private long passes;
    private long next;

    /**
     * Creates the sequence of one share.
     *
     * @param first offset of the range
     * @param length length of the range, {@code size} or more bytes
     * @param size request size, bytes
     * @param share number of the share, 0 to {@code shares - 1}
     */
    OffsetSequence(IoJob job, long first, long length, long size, int share, int shares, long seed) {
        this.requests = Math.ceilDiv(length, size);
        this.blocks = RecordOrder.shuffled(seed);
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

    /** Restarts the sequence with the same random offsets. */
    void restart() {
        random = new SplittableRandom(seed);
        passes = 0;
        next = from;
    }

    /** Starts another pass; random offsets continue with new values. */
    void nextPass() {
        passes++;
        next = from;
    }

    /** Sets offset, size and direction of a request; false at the end of the pass. */
    boolean next(IoRequest request) {
        if (next >= to) {
            return false;
        }
        if (job.operation().random() && !job.eachOnce()) {
            long places = (length - size) / granule + 1;
            request.fileOffset = first + random.nextLong(places) * granule;
            request.size = size;
        } else {
            long block = job.eachOnce() ? blocks.recordAt(next, requests, passes) : next;
            request.fileOffset = first + block * size;
            request.size = Math.min(size, length - block * size);
        }
        Integer readPercent = job.readPercent();
        request.write = readPercent == null ? job.operation().writes() : random.nextInt(100) >= readPercent;
        next++;
        return true;
    }
}
