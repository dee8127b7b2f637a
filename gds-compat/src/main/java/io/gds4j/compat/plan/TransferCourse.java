package io.gds4j.compat.plan;

import io.gds4j.engine.machine.TransferCosts;

/**
 * How a request is served. Follows from {@link Circumstances} and {@link TransferCosts} alone.
 *
 * @param threads largest number of threads, including the caller
 * @param pieceSize bytes of a piece, a power of two
 * @param joinable whether more threads may join when other requests end
 * @param gathered whether one kernel copies all pieces
 */
public record TransferCourse(int threads, long pieceSize, boolean joinable, boolean gathered) {
    static TransferCourse of(Circumstances now) {
        return of(now, TransferCosts.MEASURED);
    }

    static TransferCourse of(Circumstances now, TransferCosts costs) {
        boolean large = now.bytes() >= costs.joinableBytes();
        boolean gathered = now.gathers() && now.cached() && !now.write() && !large;
        int threads = threads(now, gathered, costs);
        boolean joinable = large && !now.takesTurns();
        long pieceSize = gathered ? gatheredPiece(now, threads, costs) : pieceSize(now, threads, costs);
        return new TransferCourse(threads, pieceSize, joinable, gathered);
    }

    /**
     * Returns whether a kernel may copy all pieces of a request: a worker can load it, the request is large enough, and it is short
     * enough not to keep a GPU's processors busy.
     *
     * @param requests number of requests at work that copy to the same GPU, including this one
     */
    public static boolean mayGather(Parallelism limits, long bytes, int requests) {
        return limits.workers() > 0
                && bytes < TransferCosts.MEASURED.joinableBytes()
                && TransferCosts.MEASURED.paysKernel(bytes, requests);
    }

    private static long gatheredPiece(Circumstances now, int threads, TransferCosts costs) {
        long wanted = Long.highestOneBit(now.bytes() / ((long) threads * TransferCosts.GATHERED_PIECES));
        return Math.min(now.slab(), Math.clamp(wanted, costs.smallestGathered(), costs.largestGathered()));
    }

    private static int threads(Circumstances now, boolean gathered, TransferCosts costs) {
        Parallelism limits = now.limits();
        if (!mayShare(limits, now.bytes(), now.slab(), costs) || !now.staged() && isSmall(limits, now.bytes())) {
            return 1;
        }
        if (!now.cached()) {
            return limits.perRequest(); // they wait for the disk most of the time
        }
        if (now.takesTurns() && now.staged()) {
            return 1;
        }
        int best = costs.bestThreads(now.operation(), gathered);
        int most = Math.min(share(limits, now.requests(), now.gpus(), gathered, costs), best);
        return now.takesTurns() ? Math.min(most, TransferCosts.CACHE_WRITERS) : most;
    }

    private static long pieceSize(Circumstances now, int threads, TransferCosts costs) {
        if (!now.staged() && (threads == 1 || now.direct() && (now.write() || !now.cached()))) {
            // A lone thread gains nothing from pieces, and the kernel gives the disk a long piece at once.
            return now.cached() && !now.direct()
                    ? Math.max(costs.longestPiece(), now.systemCall())
                    : now.systemCall();
        }
        long smallest = costs.smallestPiece();
        if (now.staged() && now.write() && now.direct()) {
            return Math.min(smallest, now.slab()); // short writes keep a disk busier than long ones: 3.9 against 3.3 GB/s
        }
        if (now.bytes() <= smallest || !mayShare(now.limits(), now.bytes(), now.slab(), costs)) {
            return now.slab(); // cut only where two slabs meet
        }
        long pieces = (long) threads * piecesOfEach(now, threads, costs);
        return Math.min(now.slab(), Math.max(smallest, Long.highestOneBit(now.bytes() / pieces)));
    }

    private static int piecesOfEach(Circumstances now, int threads, TransferCosts costs) {
        if (!now.staged()) {
            return TransferCosts.UNSTAGED_PIECES;
        }
        boolean overlapsOthers = now.cached() && threads > 1 && now.requests() > 1
                && now.requests() * threads > costs.linkThreads();
        return overlapsOthers ? 1 : TransferCosts.STAGED_PIECES;
    }

    /**
     * Returns the number of threads of a request beside others. Few requests share the processors, and many have one thread each:
     * threads that take turns with others lose the processors' caches. In between the number is a power of two, so that all threads of
     * a request get equally many pieces.
     *
     * @param requests number of requests at work with the same workers, including this one
     * @param gpus number of GPUs at work
     */
    public static int share(Parallelism limits, int requests, int gpus) {
        return share(limits, requests, gpus, false, TransferCosts.MEASURED);
    }

    private static int share(Parallelism limits, int requests, int gpus, boolean gathered, TransferCosts costs) {
        int busy = costs.linkThreads();
        int processors = limits.processors() / Math.max(1, gpus);
        int each;
        if (requests < 2) {
            each = gpus < 2 ? limits.workers() + 1 : Math.min(processors, busy);
        } else if (gathered) {
            each = Math.round((float) Math.min(processors, limits.workers() + requests) / requests);
        } else if (requests < busy) {
            double together = Math.min(processors, limits.workers() + requests);
            each = Math.min(busy / 2, Integer.highestOneBit((int) Math.round(together / requests)));
        } else {
            each = 1;
        }
        return Math.clamp(each, 1, limits.perRequest());
    }

    /**
     * Returns whether a request is large enough for several threads.
     *
     * @param slab bytes of the largest slab
     */
    public static boolean mayShare(Parallelism limits, long bytes, long slab) {
        return mayShare(limits, bytes, slab, TransferCosts.MEASURED);
    }

    private static boolean mayShare(Parallelism limits, long bytes, long slab, TransferCosts costs) {
        return bytes > Math.min(costs.sharedBytes(), slab) && bytes >= limits.minimumBytes() && limits.workers() > 0;
    }

    /** Returns whether one thread serves a request of host memory best, wherever its bytes are. */
    static boolean isSmall(Parallelism limits, long bytes) {
        return bytes < TransferCosts.WORTH_A_SECOND && limits.perRequest() < TransferCosts.ENOUGH_THREADS;
    }
}
