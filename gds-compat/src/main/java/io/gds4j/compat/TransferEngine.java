package io.gds4j.compat;

import io.gds4j.internal.lifetime.Uninterruptibly;
import io.gds4j.memory.MemoryRange;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Function;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Runs requests: the calling thread takes pieces, and for requests of more than one piece the workers take them too. An idle
 * engine costs nothing.
 */
final class TransferEngine {
    private static final long KIB = 1024;
    private static final long MIN_PIECE_SIZE = 512 * KIB;

    /** Of a thread that works alone because all others do so, too: each piece costs the GPU's driver a lock that all want. */
    private static final long ALONE_PIECE_SIZE = 4096 * KIB;

    /**
     * Of fewer threads a second one takes half of the work at best, and reads from memory below the size then cost more than
     * they gain: 1 MiB is 40 microseconds of one thread, and waking another takes 20.
     */
    private static final int ENOUGH_THREADS = 4;

    private static final long WORTH_A_SECOND = 4096 * KIB;

    private final LaneRack lanes;
    private final LaneRack handOffLanes;
    private final Crews crews;
    private final ExecutorService platform =
            Executors.newCachedThreadPool(Thread.ofPlatform().daemon().name("gds4j-call-", 0).factory());
    private final Parallelism parallelism;

    /**
     * Starts the workers.
     *
     * @param makeLane makes lanes; told whether their thread's interrupt ends a request
     * @param moveNear has the calling thread run near a GPU
     */
    TransferEngine(Parallelism parallelism, Function<Boolean, Lane> makeLane, IntConsumer moveNear) {
        this.lanes = new LaneRack(() -> makeLane.apply(true));
        this.handOffLanes = new LaneRack(() -> makeLane.apply(false));
        this.parallelism = parallelism;
        this.crews = new Crews(parallelism, () -> makeLane.apply(false), moveNear);
    }

    /**
     * Counts a request in, to be counted out by {@link #leave}.
     *
     * @param largest bytes of a piece at most, a power of two
     */
    void enter(MemoryRange memory, long size, long largest) {
        if (mayShare(size, largest)) {
            crews.enter(crews.of(memory));
        }
    }

    void leave(MemoryRange memory, long size, long largest) {
        if (mayShare(size, largest)) {
            Crew crew = crews.of(memory);
            int others = crews.leave(crew);
            crew.widen(parallelism.share(others, crews.atWork()));
        }
    }

    /** The workers for requests of this memory. */
    Crew crew(MemoryRange memory) {
        return crews.of(memory);
    }

    /** True if the request is worth several threads, as far as its size tells. */
    boolean mayShare(long size, long largest) {
        return size > Math.min(MIN_PIECE_SIZE, largest) && size >= parallelism.minimumBytes()
                && parallelism.workers() > 0;
    }

    /**
     * How many threads a request may have, its caller included.
     *
     * @param operation bytes of what the request is a part of
     * @param fromMemory it keeps processors busy and waits for no disk
     */
    int threads(MemoryRange memory, long size, long operation, long largest, boolean fromMemory) {
        if (!mayShare(size, largest) || isSmallHere(memory, size)) {
            return 1;
        }
        if (!fromMemory) {
            return parallelism.perRequest();
        }
        return Math.min(
                parallelism.share(crews.of(memory).atWork().get(), crews.atWork()), worth(operation));
    }

    /** True if one thread serves the request best on this machine, wherever its bytes are. */
    boolean isSmallHere(MemoryRange memory, long size) {
        return size < WORTH_A_SECOND && memory.kind().isHost() && parallelism.perRequest() < ENOUGH_THREADS;
    }

    /**
     * Threads that a request served from memory gains from: the time that waking them takes grows with their number, and what is
     * left for each to do shrinks with it, so that the best number grows with the square root of the size: 2 for 1 MiB, 8 for
     * 16 MiB, 12 from 36 MiB on.
     */
    private static int worth(long size) {
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

    /** A thread that works on requests beside their callers, for questions about confinement. */
    Thread helper() {
        return parallelism.workers() == 0 ? Thread.currentThread() : crews.first().anyThread();
    }

    /** A lane for a request of the calling thread; to be given back. */
    Lane borrowLane() {
        return lanes.borrow();
    }

    void giveBack(Lane lane) {
        lanes.giveBack(lane);
    }

    /** A lane for requests of a thread for which no caller waits; to be given back. */
    Lane borrowUnattendedLane() {
        return handOffLanes.borrow();
    }

    void giveBackUnattended(Lane lane) {
        handOffLanes.giveBack(lane);
    }

    /** Moves all pieces; {@link Transfer#result} then tells what came of it. */
    void execute(Transfer transfer, Lane lane) {
        if (transfer.usesGpu() && Thread.currentThread().isVirtual()) {
            executeElsewhere(transfer);
        } else {
            executeHere(transfer, lane);
        }
    }

    /** A virtual thread may move between carriers while it waits, and a CUDA context would stay with the carrier. */
    private void executeElsewhere(Transfer transfer) {
        CompletableFuture<@Nullable Void> done = CompletableFuture.runAsync(
                () -> {
                    Lane lane = handOffLanes.borrow();
                    try {
                        executeHere(transfer, lane);
                    } finally {
                        handOffLanes.giveBack(lane);
                    }
                },
                platform);
        Uninterruptibly.await(() -> {
            try {
                done.get();
            } catch (InterruptedException e) {
                transfer.cancel();
                throw e;
            } catch (ExecutionException e) {
                throw new IllegalStateException(e.getCause());
            }
        });
    }

    private void executeHere(Transfer transfer, Lane lane) {
        boolean alone = transfer.threads() == 1 && !transfer.isLarge();
        if (alone || !parallelism.shares(transfer.pieces(), transfer.plan().size())) {
            transfer.run(lane);
            return;
        }
        transfer.ownByCurrentThread();
        if (lane.heedsInterrupts() && Thread.currentThread().isInterrupted()) {
            // The workers must not be done before the caller looks.
            transfer.cancel();
        }
        Crew crew = transfer.crew();
        crew.offer(transfer);
        try {
            transfer.run(lane);
        } finally {
            crew.withdraw(transfer);
        }
    }

    /** Ends the workers; no request may be at work. */
    void close() {
        crews.close();
        platform.shutdown();
        lanes.close();
        handOffLanes.close();
    }

    /** The JVM exits: no new requests, and those at work end after the pieces in flight. */
    void stopForExit() {
        crews.cancelAll();
    }
}
