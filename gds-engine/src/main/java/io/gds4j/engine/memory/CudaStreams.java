package io.gds4j.engine.memory;

import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongToIntFunction;
import java.util.function.ToIntFunction;

/**
 * Non-blocking streams for work that is complete on return: as many in each context as threads use at a time. The NULL stream would
 * wait for the program's own work. Thread-safe.
 */
final class CudaStreams implements AutoCloseable {
    /** Time between two looks for a stream that another thread gives back. */
    private static final long PAUSE_NANOS = 50_000;

    /**
     * Idle streams of a context. The id tells it from a later context at the same address, in which they are invalid.
     *
     * @param made number of streams, idle or in use
     */
    private record Idle(long contextId, Queue<Long> streams, AtomicInteger made) {
    }

    private final CudaContexts contexts;
    private final Cuda cuda;
    private final StreamWaits waits;
    /** Has no locks: a virtual thread that looks here holds a context of its carrier. */
    private final ConcurrentMap<Long, Idle> idleByContext = new ConcurrentSkipListMap<>();

    CudaStreams(CudaContexts contexts) {
        this.contexts = contexts;
        this.cuda = contexts.cuda();
        this.waits = StreamWaits.of(contexts);
    }

    /**
     * Lets {@code work} start a driver call in a stream of the context, and waits for it.
     *
     * @param call C name of the driver call
     * @throws io.gds4j.error.CuFileException CUDA_DRIVER_ERROR or NOMEM_ERROR if the call or its work failed
     */
    void run(long context, String call, LongToIntFunction work) {
        CudaErrors.check(cuda, call, tryRun(context, work));
    }

    /** As {@link #run}, for work that waits for all streams: while no stream waits for this process. */
    void runWhileNone(long context, String call, LongToIntFunction work) {
        int[] result = new int[1];
        waits.whileNone(() -> result[0] = tryRun(context, work, stream -> create(context, stream)));
        CudaErrors.check(cuda, call, result[0]);
    }

    /** As {@link #run}, but returns the first result that was not SUCCESS. */
    int tryRun(long context, LongToIntFunction work) {
        return tryRun(context, work, stream -> make(context, stream));
    }

    /** @param make sets its argument to a stream of the context when none is idle, and returns a {@code CUresult} */
    private int tryRun(long context, LongToIntFunction work, ToIntFunction<long[]> make) {
        int entered = contexts.enter(context);
        if (entered != Cuda.SUCCESS) {
            return entered;
        }
        try {
            Idle idle = idle(context);
            Long taken = idle.streams().poll();
            if (taken != null) {
                return run(idle, taken, work);
            }
        } finally {
            contexts.leave(); // before a wait: a virtual thread would leave the context to its carrier
        }
        long[] made = new long[1];
        int result = make.applyAsInt(made);
        return result == Cuda.SUCCESS ? tryRun(context, made[0], work) : result;
    }

    private int tryRun(long context, long stream, LongToIntFunction work) {
        Idle idle = idle(context);
        int entered = contexts.enter(context);
        if (entered != Cuda.SUCCESS) {
            idle.streams().add(stream);
            return entered;
        }
        try {
            return run(idle, stream, work);
        } finally {
            contexts.leave();
        }
    }

    private int run(Idle idle, long stream, LongToIntFunction work) {
        int started = work.applyAsInt(stream);
        int done = cuda.streamSynchronize(stream); // after a failure, too: parts of the work may have begun
        if (done == Cuda.SUCCESS) {
            idle.streams().add(stream);
        } else {
            idle.made().decrementAndGet();
            cuda.streamDestroy(stream);
        }
        return started != Cuda.SUCCESS ? started : done;
    }

    /** Makes a stream, or waits for one while a stream of the program waits: another thread will soon give one back then. */
    private int make(long context, long[] stream) {
        Idle idle = idle(context);
        Long reused = null;
        while (reused == null && idle.made().get() > 0 && waits.any()) {
            LockSupport.parkNanos(PAUSE_NANOS);
            reused = idle.streams().poll();
        }
        if (reused != null) {
            stream[0] = reused;
            return Cuda.SUCCESS;
        }
        int[] result = new int[1];
        waits.whileNone(() -> result[0] = create(context, stream));
        return result[0];
    }

    /** Makes a stream. The caller sees to it that no stream waits: in {@link StreamWaits#whileNone} it must not wait for that again. */
    private int create(long context, long[] stream) {
        int made = contexts.in(context, () -> cuda.streamCreate(stream, Cuda.STREAM_NON_BLOCKING));
        idle(context).made().addAndGet(made == Cuda.SUCCESS ? 1 : 0);
        return made;
    }

    /** Makes a stream of a context ahead, so that there is one while streams wait. The caller sees to it that none does now. */
    int prepare(long context) {
        Idle idle = idle(context);
        if (idle.made().get() > 0) {
            return Cuda.SUCCESS;
        }
        long[] stream = new long[1];
        int made = create(context, stream);
        if (made == Cuda.SUCCESS) {
            idle.streams().add(stream[0]);
        }
        return made;
    }

    private Idle idle(long context) {
        long id = contexts.idOf(context);
        Idle known = idleByContext.get(context);
        if (known != null && known.contextId() == id) {
            return known;
        }
        return idleByContext.compute(
                context,
                (key, now) -> now != null && now.contextId() == id ? now : fresh(id));
    }

    private static Idle fresh(long id) {
        return new Idle(id, new ConcurrentLinkedQueue<>(), new AtomicInteger());
    }

    /** Destroys idle streams in primary contexts. Streams in the program's own contexts end with their context. */
    @Override
    public void close() {
        idleByContext.forEach((context, idle) -> {
            if (contexts.isRetained(context) && contexts.enter(context) == Cuda.SUCCESS) {
                try {
                    destroyAll(idle.streams());
                } finally {
                    contexts.leave();
                }
            }
        });
        idleByContext.clear();
    }

    /** Takes each stream out first: another thread may look for one. */
    private void destroyAll(Queue<Long> streams) {
        Long stream = streams.poll();
        while (stream != null) {
            cuda.streamDestroy(stream);
            stream = streams.poll();
        }
    }
}
