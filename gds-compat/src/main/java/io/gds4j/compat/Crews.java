package io.gds4j.compat;

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
final class Crews implements Load {
    private static final int MOST_GPUS = 64;
    private static final int NONE = -1;

    private final Crew first;
    private final AtomicInteger firstGpu = new AtomicInteger(NONE);

    /** Of the further GPUs. */
    private final AtomicReferenceArray<@Nullable Crew> others = new AtomicReferenceArray<>(MOST_GPUS);

    /** Crews that have a request at work. */
    private final AtomicInteger atWork = new AtomicInteger();

    private final Parallelism parallelism;
    private final Supplier<ThreadContext> makeContext;
    private final IntConsumer moveNear;
    private boolean stopped;

    /**
     * @param makeContext makes a worker's context, on its thread
     * @param moveNear has the calling thread run near a GPU
     */
    Crews(Parallelism parallelism, Supplier<ThreadContext> makeContext, IntConsumer moveNear) {
        this.parallelism = parallelism;
        this.makeContext = makeContext;
        this.moveNear = moveNear;
        this.first = new Crew(parallelism, makeContext, moveNear);
    }

    Crew first() {
        return first;
    }

    /** Those that work on requests of this memory. */
    Crew of(MemoryRange memory) {
        int gpu = memory.device();
        if (memory.kind().isHost() || gpu < 0 || gpu >= MOST_GPUS) {
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
        Crew crew = others.get(gpu);
        return crew == null ? make(gpu) : crew;
    }

    private synchronized Crew make(int gpu) {
        Crew crew = others.get(gpu);
        if (crew == null) {
            if (stopped) {
                return first;
            }
            crew = new Crew(parallelism, makeContext, moveNear);
            crew.stayNear(gpu);
            others.set(gpu, crew);
        }
        return crew;
    }

    /** A request begins that is worth several threads. */
    void enter(Crew crew) {
        if (crew.atWork().getAndIncrement() == 0) {
            atWork.incrementAndGet();
        }
    }

    /**
     * It is over.
     *
     * @return how many others the crew has
     */
    int leave(Crew crew) {
        int left = crew.atWork().decrementAndGet();
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
    public int gpus() {
        return atWork.get();
    }

    /** No new requests; those at work end after the pieces in flight. */
    synchronized void cancelAll() {
        stopped = true;
        first.cancelAll();
        for (int i = 0; i < MOST_GPUS; i++) {
            Crew crew = others.get(i);
            if (crew != null) {
                crew.cancelAll();
            }
        }
    }

    /** Ends the workers; no request may be at work. */
    synchronized void close() {
        stopped = true;
        first.close();
        for (int i = 0; i < MOST_GPUS; i++) {
            Crew crew = others.get(i);
            if (crew != null) {
                crew.close();
            }
        }
    }
}
