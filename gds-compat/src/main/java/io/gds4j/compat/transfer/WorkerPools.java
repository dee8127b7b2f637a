package io.gds4j.compat.transfer;

import io.gds4j.memory.MemoryRange;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.IntConsumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The workers of a session, in one pool for each GPU, so that requests of two GPUs take no threads from each other. The first
 * pool exists from the beginning and serves host memory and the first GPU. Each further GPU gets a pool with its first request
 * that is worth several threads.
 */
final class WorkerPools implements Load {
    private static final int MAX_GPUS = 64;
    private static final int NONE = -1;

    private final WorkerPool first;
    private final AtomicInteger firstGpu = new AtomicInteger(NONE);

    /** The pools of the further GPUs, by their numbers. */
    private final AtomicReferenceArray<@Nullable WorkerPool> others = new AtomicReferenceArray<>(MAX_GPUS);

    /** Number of pools that have a request at work. */
    private final AtomicInteger atWork = new AtomicInteger();

    private final Parallelism parallelism;
    private final Supplier<ThreadContext> makeContext;
    private final IntConsumer moveNear;
    private boolean stopped;

    /**
     * @param makeContext makes a worker's context, on its thread
     * @param moveNear has the calling thread run near a GPU
     */
    WorkerPools(Parallelism parallelism, Supplier<ThreadContext> makeContext, IntConsumer moveNear) {
        this.parallelism = parallelism;
        this.makeContext = makeContext;
        this.moveNear = moveNear;
        this.first = new WorkerPool(parallelism, makeContext, moveNear);
    }

    WorkerPool first() {
        return first;
    }

    /** Returns the workers for requests of this memory. */
    WorkerPool of(MemoryRange memory) {
        return memory.kind().isHost() ? first : ofGpu(memory.device());
    }

    /** Returns the workers for requests of a GPU's memory. */
    WorkerPool ofGpu(int gpu) {
        if (gpu < 0 || gpu >= MAX_GPUS) {
            return first;
        }
        int known = firstGpu.get();
        if (known == gpu) {
            return first;
        }
        if (known == NONE && firstGpu.compareAndSet(NONE, gpu)) {
            first.stayNear(gpu);
            return first;
        }
        if (firstGpu.get() == gpu) {
            return first;
        }
        WorkerPool pool = others.get(gpu);
        return pool == null ? make(gpu) : pool;
    }

    private synchronized WorkerPool make(int gpu) {
        WorkerPool pool = others.get(gpu);
        if (pool == null) {
            if (stopped) {
                return first;
            }
            pool = new WorkerPool(parallelism, makeContext, moveNear);
            pool.stayNear(gpu);
            others.set(gpu, pool);
        }
        return pool;
    }

    /** Counts in a request that is worth several threads. */
    void enter(WorkerPool pool, long bytes) {
        pool.bytesAtWork().addAndGet(bytes);
        if (pool.atWork().getAndIncrement() == 0) {
            atWork.incrementAndGet();
        }
    }

    /**
     * Counts a request out.
     *
     * @return number of other requests that the pool has
     */
    int leave(WorkerPool pool, long bytes) {
        pool.bytesAtWork().addAndGet(-bytes);
        int left = pool.atWork().decrementAndGet();
        if (left == 0) {
            atWork.decrementAndGet();
        }
        return left;
    }

    @Override
    public int requests(MemoryRange memory) {
        return of(memory).atWork().get();
    }

    @Override
    public long bytes(MemoryRange memory) {
        return of(memory).bytesAtWork().get();
    }

    @Override
    public int gpus() {
        return atWork.get();
    }

    /** Returns whether workers prepare for a GPU, which calls the CUDA driver. */
    boolean isPreparing() {
        boolean any = first.isPreparing();
        for (int i = 0; !any && i < MAX_GPUS; i++) {
            WorkerPool pool = others.get(i);
            any = pool != null && pool.isPreparing();
        }
        return any;
    }

    /** Refuses new requests, and ends those at work after their pieces in flight. */
    synchronized void cancelAll() {
        stopped = true;
        first.cancelAll();
        for (int i = 0; i < MAX_GPUS; i++) {
            WorkerPool pool = others.get(i);
            if (pool != null) {
                pool.cancelAll();
            }
        }
    }

    /** Ends the workers; no request may be at work. */
    synchronized void close() {
        stopped = true;
        first.close();
        for (int i = 0; i < MAX_GPUS; i++) {
            WorkerPool pool = others.get(i);
            if (pool != null) {
                pool.close();
            }
        }
    }
}
