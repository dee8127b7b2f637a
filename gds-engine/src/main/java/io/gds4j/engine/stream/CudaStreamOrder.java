package io.gds4j.engine.stream;

import io.gds4j.engine.kernel.CopyCell;
import io.gds4j.engine.kernel.CopyKernel;
import io.gds4j.engine.kernel.CopyKernels;
import io.gds4j.engine.kernel.GatherKernel;
import io.gds4j.engine.kernel.GatherKernels;
import io.gds4j.engine.kernel.PieceBoard;
import io.gds4j.engine.memory.StreamWaits;
import io.gds4j.engine.staging.EventWait;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
import io.gds4j.internal.lifetime.Uninterruptibly;
import io.gds4j.memory.MemoryRange;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Objects;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Keeps the order of a CUDA stream. Submission records an event in the stream and lets the stream wait for a word. A worker thread
 * waits for the event, moves the bytes, and sets the word, whatever the result. No code runs on a thread of CUDA's, and only the
 * submitting thread makes calls on the program's stream, so that its per-thread stream works, too.
 *
 * <p>
 * While a stream waits for a word, CUDA's scheduler does not see it, and much waits for the stream: its channel of the GPU, with the
 * work of other streams in it; calls that synchronise implicitly, such as freeing memory; and behind them nearly every other call. So
 * the work that sets the word must not need any of that. Where the backend allows it ({@link StagedStreamCopy}), the stream itself copies
 * between its memory and pinned slabs, by a kernel behind the wait.
 *
 * <p>
 * An operation begins once the stream has reached it. Its arguments are bound then, unless they are fixed; and even with fixed
 * arguments it must see what earlier work of the stream has done: a host function may write the file, or an event may tell that another
 * thread has. The driver does not tell whether such work stands between two operations, but a GPU can: a read right behind another read
 * rings a bell while that one's copy runs ({@link GatherKernel#launchBell}), and then begins before it ends.
 *
 * <p>
 * A stream waits in the channel of its last work. A kernel before the wait keeps it out of the channels of copy engines, where it would
 * hold up the copies of all streams.
 */
final class CudaStreamOrder implements StreamOrder {
    private static final String SUBMIT = "cuFileReadAsync";
    private static final StreamCopy NONE = new StreamCopy.None();

    /** The next operation of a busy stream is reached at once, and sleeping would take longer than the operation. */
    private static final long SPIN_NANOS = 50_000;

    /** A copy of 16 MiB takes about as long; a blocking wait ends up to 100 microseconds late. */
    private static final long COPY_SPIN_NANOS = 400_000;

    /** The bell of a read rings about 40 microseconds after the copy before it has begun. */
    private static final long BELL_SPIN_NANOS = 100_000;

    /** CUDA's queue for a stream has 1024 entries. Each step takes some, as does the program's own work between. */
    private static final long MOST_PENDING = StagingSlabs.CELLS;

    private final long stream;
    private final int flags;
    private final CudaContexts contexts;
    private final Cuda cuda;
    private final long context;
    private final boolean anyContext;
    private final StreamWaits streamWaits;
    private final StreamMovers movers;
    private final ReleaseWords words;
    private final ReleaseWord word;
    private final StreamMover mover;
    private final CopyKernel kernel;
    private final @Nullable GatherKernel gather;
    private final @Nullable StagingSlabs slabs;
    private final StagingSlabs.@Nullable Place place;
    private final Turns turns = new Turns();
    /**
     * Held while operations are put into the stream, which keeps their order. Those calls block while CUDA's queue for the stream is
     * full, so that the thread that makes room there needs another lock.
     */
    private final ReentrantLock submission = new ReentrantLock();

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final Deque<ParkedOperation> queue = new ArrayDeque<>();
    private final IdleEvents events;
    private final ThreadFactory threads;
    private @Nullable Thread worker;
    private long pending;

    /** Steps that the stream has not passed. Guarded by lock. */
    private long steps;

    /** Copies so far by cells and by boards. Guarded by submission. */
    private long cells;
    private long boards;

    /** Operations for which the stream counts as waiting. Guarded by lock. */
    private int waits;

    private boolean closed;

    /** The stream as a staged copy sees it. */
    private final class Turns implements StagedOperation.Turns {
        @Override
        public int await(long event) {
            return contexts.in(context, () -> EventWait.spin(cuda, event, SPIN_NANOS));
        }

        @Override
        public int awaitCopy(long event) {
            return contexts.in(context, () -> EventWait.spin(cuda, event, COPY_SPIN_NANOS));
        }

        @Override
        public boolean isNext(StreamCopy.Pieces first) {
            long begun = System.nanoTime();
            boolean rung = first.board().isRung(first.request());
            while (hasBell() && !rung && System.nanoTime() - begun < BELL_SPIN_NANOS) {
                Thread.onSpinWait();
                rung = first.board().isRung(first.request());
            }
            return rung;
        }

        @Override
        public void release(Step step) {
            word.release(step.turn());
        }

        @Override
        public void leave(Step step) {
            CudaStreamOrder.this.leave(step);
        }

        @Override
        public RuntimeException failure(int result) {
            return CudaErrors.failure(cuda, "cuEventSynchronize", result).build();
        }
    }

    /**
     * @param stream raw {@code CUstream}
     * @param anyContext the stream is a special one of CUDA's: it belongs to the submitting thread's context
     * @param slabs slabs of staged operations; null if no operation is staged
     * @param threads makes the worker
     */
    CudaStreamOrder(
            long stream,
            boolean anyContext,
            long context,
            int flags,
            CudaContexts contexts,
            StreamMovers movers,
            ReleaseWords words,
            @Nullable StagingSlabs slabs,
            ThreadFactory threads) {
        this.stream = stream;
        this.threads = threads;
        this.anyContext = anyContext;
        this.context = context;
        this.flags = flags;
        this.contexts = contexts;
        this.cuda = contexts.cuda();
        this.events = new IdleEvents(cuda);
        this.streamWaits = StreamWaits.of(contexts);
        this.movers = movers;
        this.words = words;
        this.slabs = slabs;
        this.kernel = CopyKernels.of(contexts, context);
        this.gather = slabs == null ? null : GatherKernels.of(contexts, context);
        this.word = words.take();
        StagingSlabs.Place taken = null;
        try {
            taken = slabs == null ? null : slabs.takePlace();
            this.mover = movers.borrow(context);
        } catch (RuntimeException e) {
            words.giveBack(word);
            giveBack(taken);
            throw e;
        }
        this.place = taken;
        if (taken != null) {
            taken.boards().forEach(board -> board.waitUntilExit(word.address()));
        }
    }

    private void giveBack(StagingSlabs.@Nullable Place taken) {
        if (slabs != null && taken != null) {
            slabs.giveBack(taken);
        }
    }

    @Override
    public int flags() {
        return flags;
    }

    @Override
    public void submit(StreamOperation operation) {
        submission.lock();
        try {
            awaitRoom();
            checkContext();
            park(operation);
        } finally {
            submission.unlock();
        }
    }

    private void awaitRoom() {
        lock.lock();
        try {
            while (steps >= MOST_PENDING && !closed) {
                changed.awaitUninterruptibly();
            }
            if (closed) {
                throw CuFileException.of(CuFileError.INVALID_VALUE, SUBMIT, "the stream is deregistered");
            }
        } finally {
            lock.unlock();
        }
    }

    /** A special stream is another stream in each context. */
    private void checkContext() {
        long[] current = new long[1];
        if (anyContext
                && cuda.ctxGetCurrent(current) == Cuda.SUCCESS
                && current[0] != 0
                && current[0] != context) {
            throw CuFileException.of(
                    CuFileError.CUDA_CONTEXT_MISMATCH,
                    SUBMIT,
                    "the default stream was registered in another CUDA context than the current one");
        }
    }

    private void park(StreamOperation operation) {
        int[] capturing = new int[1];
        int asked = contexts.in(context, () -> cuda.streamIsCapturing(stream, capturing));
        if (asked != Cuda.SUCCESS || capturing[0] != 0) {
            throw CuFileException.of(
                    CuFileError.ASYNC_NOT_SUPPORTED, SUBMIT, "a graph is being captured from the stream");
        }
        ParkedOperation parked = new ParkedOperation(operation, copies(operation));
        startWorker();
        streamWaits.begin(countWait());
        try {
            putStep(parked, 0);
            for (int i = 1; i < parked.steps(); i++) {
                awaitRoom();
                putStep(parked, i);
            }
        } finally {
            if (!operation.isQueued()) {
                streamWaits.end(uncountWait());
            }
        }
    }

    /** Returns the number of copies that the stream makes for an operation; 0 if the backend moves all bytes. */
    private int copies(StreamOperation operation) {
        if (place == null || !operation.isStaged()) {
            return 0;
        }
        MemoryRange memory = operation.memory();
        try {
            boolean own = contexts.contextOf(memory.address(), memory.device()) == context;
            return own ? Math.toIntExact(copiesOfOwn(operation)) : 0;
        } catch (CuFileException e) {
            // The result of the operation will report this failure.
            return 0;
        }
    }

    private static long copiesOfOwn(StreamOperation operation) {
        return GatheredStreamRead.serves(operation)
                ? GatheredStreamRead.copies(operation.largest())
                : StagedStreamCopy.copies(operation.largest());
    }

    private void putStep(ParkedOperation parked, int index) {
        boolean together = streamWaits.beginStep();
        boolean complete = false;
        try {
            StreamCopy copy = index < parked.copies() ? nextCopy(parked.operation()) : NONE;
            Step step = inContext(() -> putWait(index == 0, copy));
            hand(parked, step);
            if (copy != NONE) {
                inContext(() -> putCopy(copy, parked.operation().largest(), step));
            }
            complete = true;
            parked.complete();
        } finally {
            streamWaits.endStep(together);
            if (!complete) {
                parked.breakOff();
            }
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

    private Step putWait(boolean first, StreamCopy copy) {
        long reached = 0;
        long copied = 0;
        boolean waiting = false;
        try {
            reached = events.take();
            copied = copy == NONE ? 0 : events.take();
            if (first) {
                CudaErrors.check(cuda, "cuLaunchKernel", announce(copy));
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
    private int announce(StreamCopy copy) {
        int result = copy instanceof StreamCopy.Pieces(PieceBoard board, int request) && hasBell()
                ? gather().launchBell(cuda, board, request, stream)
                : Cuda.ERROR_NOT_FOUND;
        return result == Cuda.SUCCESS ? result : kernel.launch(cuda, word.emptyCell(), 0, stream);
    }

    private boolean hasBell() {
        return gather != null && gather.hasBell();
    }

    private GatherKernel gather() {
        return Objects.requireNonNull(gather, "no staged operation without a kernel");
    }

    private Step putCopy(StreamCopy copy, long most, Step step) {
        int launched = switch (copy) {
            case StreamCopy.None none -> Cuda.SUCCESS;
            case StreamCopy.Cell(CopyCell cell) -> kernel.launch(cuda, cell, most, stream);
            case StreamCopy.Pieces(PieceBoard board, int request) -> gather().launchUntilEnd(
                    cuda, board, request, GatheredStreamRead.likelyPieces(most), stream);
        };
        CudaErrors.check(cuda, "cuLaunchKernel", launched);
        CudaErrors.check(cuda, "cuEventRecord", cuda.eventRecord(step.copied(), stream));
        return step;
    }

    /** Returns a copy of which nothing is told yet: if the process ends, the stream passes and must copy nothing. */
    private StreamCopy nextCopy(StreamOperation operation) {
        StagingSlabs.Place own = Objects.requireNonNull(place, "no staged operation without a place");
        if (GatheredStreamRead.serves(operation)) {
            PieceBoard board = own.boards().get((int) (boards++ % own.boards().size()));
            return new StreamCopy.Pieces(board, board.beginBehind());
        }
        CopyCell cell = own.cells().get((int) (cells++ % own.cells().size()));
        cell.clear();
        return new StreamCopy.Cell(cell);
    }

    private void hand(ParkedOperation parked, Step step) {
        parked.hand(step);
        lock.lock();
        try {
            steps++;
            if (!parked.operation().isQueued()) {
                parked.operation().setQueued();
                pending++;
                queue.add(parked);
                changed.signalAll();
            }
        } finally {
            lock.unlock();
        }
    }

    private void leave(Step step) {
        events.keep(step.reached());
        events.keep(step.copied());
        lock.lock();
        try {
            steps--;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Returns true if it is the only wait. */
    private boolean countWait() {
        lock.lock();
        try {
            return waits++ == 0;
        } finally {
            lock.unlock();
        }
    }

    /** Returns true if it was the last wait. */
    private boolean uncountWait() {
        lock.lock();
        try {
            return --waits == 0;
        } finally {
            lock.unlock();
        }
    }

    /** Starts the worker before anything is in the stream: without a worker, the stream would wait for ever. */
    private void startWorker() {
        lock.lock();
        try {
            if (worker == null) {
                Thread thread = threads.newThread(this::serve);
                thread.start();
                worker = thread;
            }
        } finally {
            lock.unlock();
        }
    }

    private void serve() {
        GatheredStreamRead unfinished = null;
        ParkedOperation parked = take();
        while (parked != null) {
            unfinished = serve(parked, unfinished);
            parked = poll();
            if (parked == null) {
                finish(unfinished);
                unfinished = null;
                parked = take();
            }
        }
    }

    /** Serves an operation. Returns a read whose last copy may be under way. */
    private @Nullable GatheredStreamRead serve(ParkedOperation parked, @Nullable GatheredStreamRead earlier) {
        if (!parked.isStaged() || slabs == null || place == null) {
            finish(earlier);
            servePlain(parked);
            return null;
        }
        if (!GatheredStreamRead.serves(parked.operation())) {
            finish(earlier);
            try {
                new StagedStreamCopy(parked, turns, mover, slabs, place).run();
            } finally {
                over();
            }
            return null;
        }
        GatheredStreamRead read = new GatheredStreamRead(parked, turns, mover, slabs, this::over);
        boolean complete = false;
        try {
            read.read(earlier);
            complete = true;
        } finally {
            if (!complete) {
                read.finish();
            }
        }
        return read;
    }

    private static void finish(@Nullable GatheredStreamRead read) {
        if (read != null) {
            read.finish();
        }
    }

    /** An operation is over: its stream has passed it, and it holds nothing. */
    private void over() {
        streamWaits.end(uncountWait());
        lock.lock();
        try {
            pending--;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private void servePlain(ParkedOperation parked) {
        Step step = Objects.requireNonNull(parked.next(), "an operation is queued with its first step");
        try {
            int reached = turns.await(step.reached());
            if (reached == Cuda.SUCCESS) {
                parked.operation().run(mover);
            } else {
                parked.operation().fail(turns.failure(reached));
            }
        } finally {
            turns.release(step);
            leave(step);
            over();
        }
    }

    private @Nullable ParkedOperation poll() {
        lock.lock();
        try {
            return queue.poll();
        } finally {
            lock.unlock();
        }
    }

    private @Nullable ParkedOperation take() {
        lock.lock();
        try {
            while (queue.isEmpty() && !closed) {
                changed.awaitUninterruptibly();
            }
            return queue.poll();
        } finally {
            lock.unlock();
        }
    }

    @Override
    public long pending() {
        lock.lock();
        try {
            return pending;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void releaseForExit() {
        word.releaseAll();
    }

    @Override
    public void close() {
        Thread serving;
        endSubmissions();
        lock.lock();
        try {
            while (pending > 0) {
                changed.awaitUninterruptibly();
            }
            serving = worker;
        } finally {
            lock.unlock();
        }
        if (serving != null) {
            Uninterruptibly.join(serving);
        }
        contexts.in(context, () -> {
            events.destroy();
            return Cuda.SUCCESS;
        });
        words.giveBack(word);
        giveBack(place);
        mover.giveBack();
    }

    /** Waits for a submission under way; later ones are refused. */
    private void endSubmissions() {
        submission.lock();
        lock.lock();
        try {
            closed = true;
            changed.signalAll();
        } finally {
            lock.unlock();
            submission.unlock();
        }
    }
}
