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
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import java.util.stream.Stream;
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

    /** The copy then waits for other work of the GPU. */
    private static final long COPY_PAUSE_NANOS = 50_000;

    /** The bell of a read rings about 40 microseconds after the copy before it has begun, which takes as long as one more copy. */
    private static final long BELL_SPIN_NANOS = 60_000;
    private static final long BELL_PAUSE_NANOS = 10_000;

    /** The bell is no use later: the program has put other work before the read. */
    private static final long BELL_NANOS = 2_000_000;

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

    /** Behind copies. An event that a thread may block on keeps a bell behind it from ringing early. */
    private final IdleEvents plainEvents;
    private final ThreadFactory threads;
    private @Nullable Thread worker;

    /** Serves parts of gathered reads beside the worker. */
    private @Nullable Thread helper;

    private @Nullable StreamMover helpersMover;
    private long pending;

    /** The last step that the stream may pass. Guarded by lock. */
    private int released;

    /** Steps that the stream has not passed. Guarded by lock. */
    private long steps;

    /** Copies so far by cells and by boards. Guarded by submission. */
    private long cells;
    private long boards;

    /** Operations for which the stream counts as waiting. Guarded by lock. */
    private int waits;

    private boolean closed;

    private final class Turns implements StreamTurns {
        @Override
        public int await(long event) {
            return contexts.in(context, () -> EventWait.spin(cuda, event, SPIN_NANOS));
        }

        @Override
        public int awaitCopy(long event) {
            return contexts.in(context, () -> untilCopied(event));
        }

        private int untilCopied(long event) {
            long begun = System.nanoTime();
            int result = cuda.eventQuery(event);
            while (result == Cuda.ERROR_NOT_READY) {
                if (System.nanoTime() - begun < COPY_SPIN_NANOS) {
                    Thread.onSpinWait();
                } else {
                    LockSupport.parkNanos(COPY_PAUSE_NANOS);
                }
                result = cuda.eventQuery(event);
            }
            return result;
        }

        @Override
        public void awaitBefore(Step step) {
            lock.lock();
            try {
                while (released - (step.turn() - 1) < 0) {
                    changed.awaitUninterruptibly();
                }
            } finally {
                lock.unlock();
            }
        }

        @Override
        public int awaitNext(Step first) {
            awaitBefore(first);
            return hasBell() && first.copy() instanceof StreamCopy.Pieces(StreamBoard board, int request)
                    && isRungSoon(board.board(), request)
                            ? Cuda.SUCCESS
                            : await(first.reached());
        }

        private boolean isRungSoon(PieceBoard board, int request) {
            long begun = System.nanoTime();
            long waited = 0;
            boolean rung = board.isRung(request);
            while (!rung && waited < BELL_NANOS) {
                if (waited < BELL_SPIN_NANOS) {
                    Thread.onSpinWait();
                } else {
                    LockSupport.parkNanos(BELL_PAUSE_NANOS);
                }
                rung = board.isRung(request);
                waited = System.nanoTime() - begun;
            }
            return rung;
        }

        @Override
        public void release(Step step) {
            word.release(step.turn());
            lock.lock();
            try {
                if (step.turn() - released > 0) {
                    released = step.turn();
                    changed.signalAll();
                }
            } finally {
                lock.unlock();
            }
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
        this.events = new IdleEvents(cuda, Cuda.EVENT_DISABLE_TIMING | Cuda.EVENT_BLOCKING_SYNC);
        this.plainEvents = new IdleEvents(cuda, Cuda.EVENT_DISABLE_TIMING);
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
        this.released = word.turns();
        if (taken != null) {
            taken.boards().forEach(board -> board.board().waitUntilExit(word.address()));
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
        startWorker();
        streamWaits.begin(countWait());
        try {
            if (isOfOwnContext(operation) && GatheredStreamRead.serves(operation)) {
                parkParts(operation);
            } else {
                parkWhole(operation);
            }
        } finally {
            if (!operation.isQueued()) {
                streamWaits.end(uncountWait());
            }
        }
    }

    private void parkWhole(StreamOperation operation) {
        int copies = isOfOwnContext(operation) ? Math.toIntExact(StagedStreamCopy.copies(operation.largest())) : 0;
        ParkedOperation parked = new ParkedOperation(operation, copies);
        putStep(parked, 0);
        for (int i = 1; i < parked.steps(); i++) {
            awaitRoom();
            putStep(parked, i);
        }
    }

    private void parkParts(StreamOperation operation) {
        StagingSlabs own = Objects.requireNonNull(slabs, "no staged operation without slabs");
        GatheredStreamRead read = new GatheredStreamRead(operation, turns, own, this::over);
        int parts = read.parts();
        int number = 0;
        ParkedOperation parked = null;
        try {
            while (number < parts) {
                parked = null;
                if (number > 0) {
                    awaitRoom();
                }
                startHelper();
                parked = new ParkedOperation(operation, new ParkedOperation.Part(read, number));
                putStep(parked, number);
                number++;
            }
        } finally {
            if (number < parts && operation.isQueued()) {
                read.breakOff(parked != null && parked.isHanded() ? number + 1 : number);
            }
        }
    }

    /** Returns whether the stream itself copies for an operation; else the backend moves all bytes. */
    private boolean isOfOwnContext(StreamOperation operation) {
        if (place == null || !operation.isStaged()) {
            return false;
        }
        MemoryRange memory = operation.memory();
        try {
            return contexts.contextOf(memory.address(), memory.device()) == context;
        } catch (CuFileException e) {
            // The result of the operation will report this failure.
            return false;
        }
    }

    /** @param index number of the step in its operation */
    private void putStep(ParkedOperation parked, int index) {
        StreamCopy copy = parked.part() != null || index < parked.copies() ? nextCopy(parked) : NONE;
        boolean together = streamWaits.beginStep();
        boolean complete = false;
        try {
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
            if (!parked.isHanded() && copy instanceof StreamCopy.Pieces(StreamBoard board, int request)) {
                board.end(request, 0);
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
            copied = copy == NONE ? 0 : plainEvents.take();
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
                plainEvents.keep(copied);
            }
        }
    }

    /** Puts a kernel before the wait of an operation: the bell of a read, or one that does nothing. */
    private int announce(StreamCopy copy) {
        int result = copy instanceof StreamCopy.Pieces(StreamBoard board, int request) && hasBell()
                ? gather().launchBell(cuda, board.board(), request, stream)
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
            case StreamCopy.Pieces(StreamBoard board, int request) -> gather().launchUntilEnd(
                    cuda, board.board(), request, GatheredStreamRead.likelyPieces(most), stream);
        };
        CudaErrors.check(cuda, "cuLaunchKernel", launched);
        CudaErrors.check(cuda, "cuEventRecord", cuda.eventRecord(step.copied(), stream));
        return step;
    }

    /** Returns a copy of which nothing is told yet: if the process ends, the stream passes and must copy nothing. */
    private StreamCopy nextCopy(ParkedOperation parked) {
        StagingSlabs.Place own = Objects.requireNonNull(place, "no staged operation without a place");
        if (parked.part() != null) {
            StreamBoard board = own.boards().get((int) (boards++ % own.boards().size()));
            return new StreamCopy.Pieces(board, board.begin());
        }
        CopyCell cell = own.cells().get((int) (cells++ % own.cells().size()));
        cell.clear();
        return new StreamCopy.Cell(cell);
    }

    private void hand(ParkedOperation parked, Step step) {
        boolean isFirst = !parked.isHanded();
        parked.hand(step);
        lock.lock();
        try {
            steps++;
            if (!parked.operation().isQueued()) {
                parked.operation().setQueued();
                pending++;
            }
            if (isFirst) {
                queue.add(parked);
                changed.signalAll();
            }
        } finally {
            lock.unlock();
        }
    }

    private void leave(Step step) {
        events.keep(step.reached());
        plainEvents.keep(step.copied());
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
                Thread thread = threads.newThread(() -> serve(mover, false));
                thread.start();
                worker = thread;
            }
        } finally {
            lock.unlock();
        }
    }

    /** Starts the helper if parts wait and there is a thread for it. */
    private void startHelper() {
        if (helper != null || pending() == 0) {
            return;
        }
        StreamMover own = movers.borrow();
        Thread thread = threads.newThread(() -> serve(own, true));
        try {
            thread.start();
            helper = thread;
            helpersMover = own;
        } catch (OutOfMemoryError e) {
            own.giveBack();
        }
    }

    private void serve(StreamMover own, boolean parts) {
        ParkedOperation parked = take(parts);
        while (parked != null) {
            serve(parked, own);
            parked = take(parts);
        }
    }

    private void serve(ParkedOperation parked, StreamMover own) {
        ParkedOperation.Part part = parked.part();
        if (part != null) {
            part.read().serve(parked, part.number(), own);
            return;
        }
        try {
            if (parked.isStaged() && slabs != null && place != null) {
                new StagedStreamCopy(parked, turns, own, slabs, place).run();
            } else {
                servePlain(parked);
            }
        } finally {
            over();
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
        Step step = parked.first();
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
        }
    }

    /**
     * Waits for work.
     *
     * @param parts take only parts of reads
     * @return null once the stream is deregistered and there is none
     */
    private @Nullable ParkedOperation take(boolean parts) {
        lock.lock();
        try {
            while (!mayTake(parts) && !closed) {
                changed.awaitUninterruptibly();
            }
            return mayTake(parts) ? queue.poll() : null;
        } finally {
            lock.unlock();
        }
    }

    private boolean mayTake(boolean parts) {
        ParkedOperation next = queue.peek();
        return next != null && (!parts || next.part() != null);
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
        List<Thread> serving = new ArrayList<>();
        endSubmissions();
        lock.lock();
        try {
            while (pending > 0) {
                changed.awaitUninterruptibly();
            }
            serving.addAll(Stream.of(worker, helper).filter(Objects::nonNull).toList());
        } finally {
            lock.unlock();
        }
        serving.forEach(Uninterruptibly::join);
        contexts.in(context, () -> {
            events.destroy();
            plainEvents.destroy();
            return Cuda.SUCCESS;
        });
        words.giveBack(word);
        giveBack(place);
        mover.giveBack();
        if (helpersMover != null) {
            helpersMover.giveBack();
        }
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
