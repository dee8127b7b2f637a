package io.gds4j.engine.stream;

import io.gds4j.engine.kernel.CopyCell;
import io.gds4j.engine.kernel.CopyKernel;
import io.gds4j.engine.kernel.GatherKernel;
import io.gds4j.engine.kernel.GatherKernels;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Puts steps of operations into a CUDA stream. One thread at a time, except {@link #keep} and {@link #query}. */
final class StreamSteps {
    /** The copy of a step that has none. */
    static final StreamCopy NONE = new StreamCopy.None();

    private final long stream;
    private final CudaContexts contexts;
    private final Cuda cuda;
    private final long context;
    private final ReleaseWord word;
    private final StagingSlabs.@Nullable Place place;
    private final CopyKernel kernel;
    private final @Nullable GatherKernel gather;

    /**
     * Threads may not block on them: a waiting stream takes 56 records of such events on an H100, and then the call that records the next one
     * waits for the stream. They would also keep a bell behind them from ringing early.
     */
    private final IdleEvents events;

    /** Copies so far by cells and by boards. */
    private long cells;
    private long boards;

    /** The kernels of a context. */
    record Kernels(CopyKernel copy, @Nullable GatherKernel gather) {
        /** @param stages whether the stream copies */
        static Kernels of(CudaContexts contexts, long context, boolean stages) {
            return new Kernels(
                    CopyKernel.of(contexts, context), stages ? GatherKernels.of(contexts, context) : null);
        }
    }

    /**
     * @param stream raw {@code CUstream}
     * @param word the stream's
     * @param place the stream's; null if it copies nothing
     */
    StreamSteps(
            long stream, CudaContexts contexts, long context, Kernels kernels, ReleaseWord word,
            StagingSlabs.@Nullable Place place) {
        this.stream = stream;
        this.contexts = contexts;
        this.cuda = contexts.cuda();
        this.context = context;
        this.word = word;
        this.place = place;
        this.kernel = kernels.copy();
        this.gather = kernels.gather();
        this.events = new IdleEvents(cuda, Cuda.EVENT_DISABLE_TIMING);
        if (place != null) {
            place.boards().forEach(board -> board.board().waitUntilExit(word.address()));
        }
    }

    /** Makes calls on the stream. They wait for no other thread, so that a virtual thread stays where the context is. */
    private Step inContext(Supplier<Step> calls) {
        CudaErrors.check(cuda, "cuCtxPushCurrent", contexts.enter(context));
        try {
            return calls.get();
        } finally {
            contexts.leave();
        }
    }

    /**
     * Puts an event and a wait into the stream, and a kernel before the first wait of an operation.
     *
     * @param rings whether the kernel may be the bell of a read
     * @throws io.gds4j.error.CuFileException if CUDA refuses; then the stream does not wait
     */
    Step putWait(boolean first, boolean rings, StreamCopy copy) {
        return inContext(() -> putWaitHere(first, rings, copy));
    }

    private Step putWaitHere(boolean first, boolean rings, StreamCopy copy) {
        long reached = 0;
        long copied = 0;
        boolean waiting = false;
        try {
            reached = events.take();
            copied = copy == NONE ? 0 : events.take();
            if (first) {
                CudaErrors.check(cuda, "cuLaunchKernel", announce(rings, copy));
            }
            CudaErrors.check(cuda, "cuEventRecord", cuda.eventRecord(reached, stream));
            int turn = word.next();
            CudaErrors.check(
                    cuda,
                    "cuStreamWaitValue32",
                    cuda.streamWaitValue32(stream, word.address(), turn, Cuda.STREAM_WAIT_VALUE_GEQ));
            word.waitsForNext();
            waiting = true;
            return new Step(reached, turn, copy, copied);
        } finally {
            if (!waiting) {
                events.keep(reached);
                events.keep(copied);
            }
        }
    }

    /** Puts a kernel before the wait of an operation: the bell of a read, or one that does nothing. */
    private int announce(boolean rings, StreamCopy copy) {
        int result = rings && copy instanceof StreamCopy.Pieces(StreamBoard board, int request) && hasBell()
                ? gather().launchBell(cuda, board.board(), request, stream)
                : Cuda.ERROR_NOT_FOUND;
        return result == Cuda.SUCCESS ? result : kernel.launch(cuda, word.emptyCell(), 0, stream);
    }

    /** Asks the stream whether it has passed all that it holds; a {@code CUresult}. Any thread. */
    int query() {
        return contexts.in(context, () -> cuda.streamQuery(stream));
    }

    boolean hasBell() {
        return gather != null && gather.hasBell();
    }

    private GatherKernel gather() {
        return Objects.requireNonNull(gather, "no staged operation without a kernel");
    }

    /**
     * Puts the copy of a step behind its wait, and an event.
     *
     * @param parked hears of the copy before the event follows
     * @param most bytes of the largest copy
     * @param pieces number of pieces for which a kernel that is told of them needs blocks
     * @throws io.gds4j.error.CuFileException if CUDA refuses
     */
    void putCopy(ParkedOperation parked, Step step, long most, int pieces) {
        inContext(() -> putCopyHere(parked, step, most, pieces));
    }

    private Step putCopyHere(ParkedOperation parked, Step step, long most, int pieces) {
        int launched = switch (step.copy()) {
            case StreamCopy.None none -> Cuda.SUCCESS;
            case StreamCopy.Cell(CopyCell cell) -> kernel.launch(cuda, cell, most, stream);
            case StreamCopy.Pieces(StreamBoard board, int request) -> gather().launchUntilEnd(
                    cuda, board.board(), request, pieces, stream);
        };
        CudaErrors.check(cuda, "cuLaunchKernel", launched);
        parked.launch();
        CudaErrors.check(cuda, "cuEventRecord", cuda.eventRecord(step.copied(), stream));
        return step;
    }

    /** Returns a copy of which nothing is told yet: if the process ends, the stream passes and must copy nothing. */
    StreamCopy nextCopy(ParkedOperation parked) {
        StagingSlabs.Place own = Objects.requireNonNull(place, "no staged operation without a place");
        if (parked.isTold()) {
            StreamBoard board = own.boards().get((int) (boards++ % own.boards().size()));
            return new StreamCopy.Pieces(board, board.begin());
        }
        CopyCell cell = own.cells().get((int) (cells++ % own.cells().size()));
        cell.clear();
        return new StreamCopy.Cell(cell);
    }

    /** Takes the events of a step back that the stream has passed. */
    void keep(Step step) {
        events.keep(step.reached());
        events.keep(step.copied());
    }

    /** Destroys all events. */
    void close() {
        contexts.in(context, () -> {
            events.destroy();
            return Cuda.SUCCESS;
        });
    }

    /** A pool of events of one context. Thread-safe. */
    private static final class IdleEvents {
        private final Cuda cuda;
        private final int flags;
        private final Queue<Long> idle = new ConcurrentLinkedQueue<>();

        /** @param flags of {@code cuEventCreate} */
        IdleEvents(Cuda cuda, int flags) {
            this.cuda = cuda;
            this.flags = flags;
        }

        /**
         * Returns an idle event, or makes one in the current context. {@link #keep} takes it back.
         *
         * @throws io.gds4j.error.CuFileException if CUDA refuses
         */
        long take() {
            Long known = idle.poll();
            if (known != null) {
                return known;
            }
            long[] event = new long[1];
            CudaErrors.check(cuda, "cuEventCreate", cuda.eventCreate(event, flags));
            return event[0];
        }

        /** @param event 0 for none */
        void keep(long event) {
            if (event != 0) {
                idle.add(event);
            }
        }

        /** Destroys the idle events; their context is current. */
        void destroy() {
            idle.forEach(cuda::eventDestroy);
            idle.clear();
        }
    }
}
