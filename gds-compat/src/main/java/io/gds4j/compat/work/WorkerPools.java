package io.gds4j.compat.work;

import io.gds4j.compat.deliver.ThreadContext;
import io.gds4j.compat.plan.Parallelism;
import io.gds4j.compat.plan.Workload;
import io.gds4j.memory.MemoryRange;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.IntConsumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The workers of a session, in one pool for each GPU, so that requests of two GPUs take no threads from each other. The first
 * pool exists from the beginning and serves host memory and the first GPU. Each further GPU gets a pool with its first request
 * that is worth several threads.
 */
final class WorkerPools implements Workload {
    private static final int MAX_GPUS = 64;
    private static final int NONE = -1;

    /** Number of counters in two cache lines. */
    private static final int SPACING = 32;

    private final WorkerPool first;
    private final AtomicInteger firstGpu = new AtomicInteger(NONE);

    /** The pools of the further GPUs, by their numbers. */
    private final AtomicReferenceArray<@Nullable WorkerPool> others = new AtomicReferenceArray<>(MAX_GPUS);

    /** Number of requests that one thread serves, for each GPU; a cache line apart. */
    private final AtomicIntegerArray alone = new AtomicIntegerArray((MAX_GPUS + 1) * SPACING);

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
            try {
                pool = new WorkerPool(parallelism, makeContext, moveNear);
                pool.stayNear(gpu);
            } catch (OutOfMemoryError e) {
                pool = first; // the system starts no more threads: callers and these workers serve the GPU
            }
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

    /** Counts in a request that one thread serves. */
    void enterAlone(MemoryRange memory) {
        alone.getAndIncrement(counter(memory));
    }

    void leaveAlone(MemoryRange memory) {
        alone.getAndDecrement(counter(memory));
    }

    private static int counter(MemoryRange memory) {
        return (1 + Math.clamp(memory.device(), 0, MAX_GPUS - 1)) * SPACING;
    }

    /** Returns the workers for requests of this memory; null if there are none yet. */
    private @Nullable WorkerPool known(MemoryRange memory) {
        int gpu = memory.kind().isHost() ? NONE : memory.device();
        return gpu < 0 || gpu >= MAX_GPUS || firstGpu.get() == gpu ? first : others.get(gpu);
    }

    @Override
    public int requests(MemoryRange memory) {
        WorkerPool pool = known(memory);
        return pool == null ? 0 : pool.atWork().get();
    }

    @Override
    public int alone(MemoryRange memory) {
        return alone.get(counter(memory));
    }

    @Override
    public long bytes(MemoryRange memory) {
        WorkerPool pool = known(memory);
        return pool == null ? 0 : pool.bytesAtWork().get();
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
