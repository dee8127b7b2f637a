package io.gds4j.engine.memory;

import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.Semaphore;
import java.util.function.Consumer;
import java.util.function.LongToIntFunction;

/**
 * Non-blocking streams for work that is complete on return. The NULL stream would wait for the program's own work. All streams of a context are
 * made at its first use, while no stream waits for this process: later, the driver may keep a thread that makes one for as long as other
 * threads call it (seen: 37 s beside 90 threads). More threads take turns. Thread-safe.
 */
final class CudaStreams implements AutoCloseable {
    /** Number of streams of a context: copies of more threads at a time share the link anyway. */
    private static final int STREAMS = 16;

    /** In the queue of idle streams: one that must be made first. */
    private static final long UNMADE = 0;

    private final CudaContexts contexts;
    private final Cuda cuda;
    private final StreamWaits waits;
    /** While true, a stream of a primary context ends with its use: memory may outlive the driver that allocated it. */
    private volatile boolean closed;

    private final ConcurrentMap<Long, Streams> byContext = new ConcurrentHashMap<>();

    /** The streams of a context. Its id tells it from a later context at the same address, in which they are invalid. */
    private static final class Streams {
        private final long contextId;
        private final Queue<Long> idle = new ConcurrentLinkedQueue<>();
        private final Semaphore turns = new Semaphore(0, true);
        private volatile boolean made;

        /** Memory that tells whether the context is alive; 0 if there is none. */
        private volatile long mark;

        private Streams(long contextId) {
            this.contextId = contextId;
        }

        long take() {
            turns.acquireUninterruptibly();
            Long stream = idle.poll();
            return stream == null ? UNMADE : stream;
        }

        void give(long stream) {
            idle.add(stream);
            turns.release();
        }
    }

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
        waits.whileNone(() -> result[0] = tryRun(context, work, Runnable::run));
        CudaErrors.check(cuda, call, result[0]);
    }

    /** As {@link #run}, but returns the first result that was not SUCCESS. */
    int tryRun(long context, LongToIntFunction work) {
        return tryRun(context, work, waits::whileNone);
    }

    /** @param whileNone runs what makes the streams; within {@link StreamWaits#whileNone} it must not wait for that again */
    private int tryRun(long context, LongToIntFunction work, Consumer<Runnable> whileNone) {
        int usable = contexts.in(context, () -> Cuda.SUCCESS);
        if (usable != Cuda.SUCCESS) {
            return usable;
        }
        boolean once = endsWithItsUse(context);
        Streams streams = once ? new Streams(contexts.idOf(context)) : streams(context);
        if (!streams.made) {
            whileNone.accept(() -> make(context, streams, once ? 1 : STREAMS));
        }
        long taken = streams.take();
        long[] stream = {taken};
        try {
            // No lock and no wait within: a virtual thread would leave the context to its carrier.
            return contexts.in(context, () -> run(stream, work));
        } finally {
            streams.give(stream[0]);
            if (endsWithItsUse(context)) {
                end(context, streams);
            }
        }
    }

    private boolean endsWithItsUse(long context) {
        return closed && contexts.isRetained(context);
    }

    private int run(long[] stream, LongToIntFunction work) {
        if (stream[0] == UNMADE) {
            int created = cuda.streamCreate(stream, Cuda.STREAM_NON_BLOCKING);
            if (created != Cuda.SUCCESS) {
                stream[0] = UNMADE;
                return created;
            }
        }
        int started = work.applyAsInt(stream[0]);
        int done = cuda.streamSynchronize(stream[0]); // after a failure, too: parts of the work may have begun
        if (done != Cuda.SUCCESS) {
            cuda.streamDestroy(stream[0]);
            stream[0] = UNMADE;
        }
        return started != Cuda.SUCCESS ? started : done;
    }

    /** Makes the streams of a context ahead, as {@link #run} does. The caller sees to it that no stream waits now. */
    void prepare(long context) {
        Streams streams = streams(context);
        if (!streams.made && !closed) {
            make(context, streams, STREAMS);
        }
    }

    private void make(long context, Streams streams, int count) {
        synchronized (streams) {
            if (!streams.made) {
                contexts.in(context, () -> {
                    streams.mark = contexts.mark(context);
                    return Cuda.SUCCESS;
                });
                for (int i = 0; i < count; i++) {
                    long[] stream = new long[1];
                    int created =
                            contexts.in(context, () -> cuda.streamCreate(stream, Cuda.STREAM_NON_BLOCKING));
                    streams.give(created == Cuda.SUCCESS ? stream[0] : UNMADE); // the work that needs it reports the failure
                }
                streams.made = true;
            }
        }
    }

    private Streams streams(long context) {
        long id = contexts.idOf(context);
        Streams known = byContext.get(context);
        if (known != null && known.contextId == id) {
            return known;
        }
        return byContext.compute(
                context, (key, now) -> now != null && now.contextId == id ? now : new Streams(id));
    }

    /** Keeps streams from now on, until {@link #close}. */
    void open() {
        closed = false;
    }

    /**
     * Destroys idle streams; work that comes later does so itself in primary contexts. Streams of contexts that the program has destroyed ended with
     * them.
     */
    @Override
    public void close() {
        closed = true;
        byContext.forEach((context, streams) -> {
            if (contexts.isAlive(context, streams.contextId, streams.mark)) {
                end(context, streams);
            }
        });
        byContext.clear();
    }

    private void end(long context, Streams streams) {
        if (contexts.enter(context) == Cuda.SUCCESS) {
            try {
                destroyAll(streams.idle);
                unmark(streams);
            } finally {
                contexts.leave();
            }
        }
    }

    /** Frees the mark, unless that would wait for a stream; the page ends with its context then. */
    private void unmark(Streams streams) {
        if (streams.mark != 0 && waits.tryEnterCall()) {
            contexts.unmark(streams.mark);
            streams.mark = 0;
            waits.leaveCall();
        }
    }

    /** Takes each stream out first: another thread may look for one. */
    private void destroyAll(Queue<Long> streams) {
        Long stream = streams.poll();
        while (stream != null) {
            if (stream != UNMADE) {
                cuda.streamDestroy(stream);
            }
            stream = streams.poll();
        }
    }
}
