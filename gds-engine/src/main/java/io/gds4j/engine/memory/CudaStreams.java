package io.gds4j.engine.memory;

import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.function.LongToIntFunction;

/**
 * Non-blocking streams for work that is complete on return: as many in each context as threads use at a time. The NULL stream would
 * wait for the program's own work. Thread-safe.
 */
final class CudaStreams implements AutoCloseable {
    /** Idle streams of a context. The id tells it from a later context at the same address, in which they are invalid. */
    private record Idle(long contextId, Queue<Long> streams) {
    }

    private final CudaContexts contexts;
    private final Cuda cuda;
    /** Has no locks: a virtual thread that looks here holds a context of its carrier. */
    private final ConcurrentMap<Long, Idle> idleByContext = new ConcurrentSkipListMap<>();

    CudaStreams(CudaContexts contexts) {
        this.contexts = contexts;
        this.cuda = contexts.cuda();
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

    /** As {@link #run}, but returns the first result that was not SUCCESS. */
    int tryRun(long context, LongToIntFunction work) {
        int entered = contexts.enter(context);
        if (entered != Cuda.SUCCESS) {
            return entered;
        }
        try {
            Idle idle = idle(context);
            Long reused = idle.streams().poll();
            long[] stream = {reused == null ? 0 : reused};
            int created = reused == null ? cuda.streamCreate(stream, Cuda.STREAM_NON_BLOCKING) : Cuda.SUCCESS;
            if (created != Cuda.SUCCESS) {
                return created;
            }
            int started = work.applyAsInt(stream[0]);
            int done = cuda.streamSynchronize(stream[0]); // after a failure, too: parts of the work may have begun
            if (done == Cuda.SUCCESS) {
                idle.streams().add(stream[0]);
            } else {
                cuda.streamDestroy(stream[0]);
            }
            return started != Cuda.SUCCESS ? started : done;
        } finally {
            contexts.leave();
        }
    }

    private Idle idle(long context) {
        long id = contexts.idOf(context);
        Idle known = idleByContext.get(context);
        if (known != null && known.contextId() == id) {
            return known;
        }
        return idleByContext.compute(
                context,
                (key, now) -> now != null && now.contextId() == id ? now : new Idle(id, new ConcurrentLinkedQueue<>()));
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
