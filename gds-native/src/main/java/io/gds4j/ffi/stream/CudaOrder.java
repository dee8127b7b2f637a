package io.gds4j.ffi.stream;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.CopyCell;
import io.gds4j.ffi.cuda.CopyKernel;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
import io.gds4j.ffi.cuda.StreamWaits;
import io.gds4j.internal.lifetime.Uninterruptibly;
import io.gds4j.memory.MemoryRange;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The order of a CUDA stream. At submission an event is recorded in the stream, and the stream is told to wait for a word. A
 * thread of our own waits for the event, moves the bytes, and sets the word, whatever came of it. Nothing of ours runs on a thread
 * of CUDA's, and no call on the program's stream is made elsewhere than on the submitting thread, so that its per-thread stream
 * works, too.
 *
 * <p>
 * While a stream waits for a word, CUDA's scheduler does not see it, and much waits for it: the channel of the GPU that it stands
 * in, with all that other streams put there; calls that synchronise implicitly, such as freeing memory, and behind them nearly
 * every other call. So what a stream waits for must not need any of that. Where the backend allows it ({@link StagedRun}), the
 * stream copies itself, by a kernel of ours behind the wait, between its memory and pinned slabs.
 *
 * <p>
 * A stream waits in the channel that it last worked in. A kernel before the wait sees to it that this is never that of a copy
 * engine, where the copies of everybody would wait for it.
 *
 * @param <L> what the thread works with
 */
final class CudaOrder<L> implements StreamOrder<L> {
    private static final String SUBMIT = "cuFileReadAsync";
    private static final long SPIN_NANOS = 50_000;

    /** A copy of 16 MiB takes about as long, and being woken up to 100 microseconds. */
    private static final long COPY_SPIN_NANOS = 400_000;

    /** CUDA's queue for a stream has 1024 places, some for each of our steps and some for the program's own work between. */
    private static final long MOST_PENDING = StagingSlabs.CELLS;

    private final long stream;
    private final int flags;
    private final CudaContexts contexts;
    private final Cuda cuda;
    private final long context;
    private final boolean anyContext;
    private final StreamWaits streamWaits;
    private final StreamLanes<L> lanes;
    private final ReleaseWords words;
    private final ReleaseWord word;
    private final L lane;
    private final CopyKernel kernel;
    private final @Nullable StagingSlabs slabs;
    private final StagingSlabs.@Nullable Place place;
    private final StagedRun.Turns turns = new Turns();
    /**
     * Held while operations are put into the stream, which keeps their order. Those calls wait when CUDA's queue for the stream is
     * full, so that what makes room there needs another lock.
     */
    private final ReentrantLock submission = new ReentrantLock();

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final Deque<ParkedOperation<L>> queue = new ArrayDeque<>();
    private final IdleEvents events;
    private @Nullable Thread worker;
    private long pending;

    /** Steps that the stream has not left behind. Under the lock. */
    private long steps;

    /** Copies so far. Under the submission lock. */
    private long copies;

    /** Operations for which the stream counts as waiting. Under the lock. */
    private int waits;

    private boolean closed;

    /** How an operation that is served here sees the stream. */
    private final class Turns implements StagedRun.Turns {
        @Override
        public int await(long event) {
            return contexts.in(context, () -> CudaOrder.this.await(event, SPIN_NANOS));
        }

        @Override
        public int awaitCopy(long event) {
            return contexts.in(context, () -> CudaOrder.this.await(event, COPY_SPIN_NANOS));
        }

        @Override
        public void release(Step step) {
            word.release(step.turn());
        }

        @Override
        public void leave(Step step) {
            CudaOrder.this.leave(step);
        }

        @Override
        public RuntimeException failure(int result) {
            return CudaErrors.failure(cuda, "cuEventSynchronize", result).build();
        }
    }

    /**
     * @param stream raw {@code CUstream}
     * @param anyContext the stream is one of CUDA's special ones: it means the submitting thread's context
     * @param slabs for operations that are staged; null if none are
     */
    CudaOrder(
            long stream,
            boolean anyContext,
            long context,
            int flags,
            CudaContexts contexts,
            StreamLanes<L> lanes,
            ReleaseWords words,
            @Nullable StagingSlabs slabs) {
        this.stream = stream;
        this.anyContext = anyContext;
        this.context = context;
        this.flags = flags;
        this.contexts = contexts;
        this.cuda = contexts.cuda();
        this.events = new IdleEvents(cuda);
        this.streamWaits = contexts.streamWaits();
        this.lanes = lanes;
        this.words = words;
        this.slabs = slabs;
        this.kernel = contexts.copyKernel(context);
        this.word = words.take();
        StagingSlabs.Place taken = null;
        try {
            taken = slabs == null ? null : slabs.takePlace();
            this.lane = lanes.borrow(context);
        } catch (RuntimeException e) {
            words.giveBack(word);
            giveBack(taken);
            throw e;
        }
        this.place = taken;
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
    public void submit(StreamOperation<L> operation) {
        submission.lock();
        try {
            awaitRoom();
            checkContext();
            CudaErrors.check(cuda, "cuCtxPushCurrent", contexts.enter(context));
            try {
                park(operation);
            } finally {
                contexts.leave();
            }
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

    /** A special stream of another context would be another stream. */
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

    private void park(StreamOperation<L> operation) {
        int[] capturing = new int[1];
        int asked = cuda.streamIsCapturing(stream, capturing);
        if (asked != Cuda.SUCCESS || capturing[0] != 0) {
            throw CuFileException.of(
                    CuFileError.ASYNC_NOT_SUPPORTED, SUBMIT, "a graph is being captured from the stream");
        }
        ParkedOperation<L> parked = new ParkedOperation<>(operation, copies(operation));
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

    /** How many copies of its own the stream makes for an operation; 0 where the backend does it all. */
    private int copies(StreamOperation<L> operation) {
        if (place == null || !operation.isStaged()) {
            return 0;
        }
        MemoryRange memory = operation.memory();
        try {
            boolean own = contexts.contextOf(memory.address(), memory.device()) == context;
            return own ? Math.toIntExact(StagedRun.copies(operation.largest())) : 0;
        } catch (CuFileException e) {
            // What is wrong with the memory the program learns from the result.
            return 0;
        }
    }

    private void putStep(ParkedOperation<L> parked, int index) {
        long reached = 0;
        long copied = 0;
        boolean together = streamWaits.beginStep();
        boolean handed = false;
        boolean complete = false;
        try {
            CopyCell cell = index < parked.copies() ? nextCell() : null;
            reached = events.take();
            copied = cell == null ? 0 : events.take();
            if (index == 0) {
                CudaErrors.check(cuda, "cuLaunchKernel", kernel.launch(word.emptyCell(), 0, stream));
            }
            CudaErrors.check(cuda, "cuEventRecord", cuda.eventRecord(reached, stream));
            int turn = word.next();
            CudaErrors.check(
                    cuda,
                    "cuStreamWaitValue32",
                    cuda.streamWaitValue32(stream, word.address(), turn, Cuda.STREAM_WAIT_VALUE_GEQ));
            word.waitsForNext();
            hand(parked, new Step(reached, turn, cell, copied));
            handed = true;
            if (cell != null) {
                long most = parked.operation().largest();
                CudaErrors.check(cuda, "cuLaunchKernel", kernel.launch(cell, most, stream));
                CudaErrors.check(cuda, "cuEventRecord", cuda.eventRecord(copied, stream));
            }
            complete = true;
            parked.complete();
        } finally {
            streamWaits.endStep(together);
            if (!complete) {
                parked.breakOff();
            }
            if (!handed) {
                events.keep(reached);
                events.keep(copied);
            }
        }
    }

    /** A stream that goes on without us, because the process ends, copies nothing. */
    private CopyCell nextCell() {
        List<CopyCell> cells = Objects.requireNonNull(place, "no staged operation without a place").cells();
        CopyCell cell = cells.get((int) (copies++ % cells.size()));
        cell.clear();
        return cell;
    }

    private void hand(ParkedOperation<L> parked, Step step) {
        parked.hand(step);
        lock.lock();
        try {
            steps++;
            if (!parked.operation().isQueued()) {
                parked.operation().setQueued();
                pending++;
                queue.add(parked);
                startWorker();
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

    /** True if it is the only one. */
    private boolean countWait() {
        lock.lock();
        try {
            return waits++ == 0;
        } finally {
            lock.unlock();
        }
    }

    /** True if it was the last one. */
    private boolean uncountWait() {
        lock.lock();
        try {
            return --waits == 0;
        } finally {
            lock.unlock();
        }
    }

    private void startWorker() {
        if (worker == null) {
            Thread thread = Thread.ofPlatform().daemon().name("gds4j-stream").unstarted(this::serve);
            worker = thread;
            thread.start();
        }
    }

    private void serve() {
        ParkedOperation<L> parked = take();
        while (parked != null) {
            serve(parked);
            parked = take();
        }
    }

    private void serve(ParkedOperation<L> parked) {
        try {
            if (parked.isStaged() && slabs != null && place != null) {
                new StagedRun<>(parked, turns, lane, slabs, place).run();
            } else {
                servePlain(parked);
            }
        } finally {
            streamWaits.end(uncountWait());
            lock.lock();
            try {
                pending--;
                changed.signalAll();
            } finally {
                lock.unlock();
            }
        }
    }

    private void servePlain(ParkedOperation<L> parked) {
        Step step = Objects.requireNonNull(parked.next(), "an operation is queued with its first step");
        try {
            int reached = turns.await(step.reached());
            if (reached == Cuda.SUCCESS) {
                parked.operation().run(lane);
            } else {
                parked.operation().fail(turns.failure(reached));
            }
        } finally {
            turns.release(step);
            leave(step);
        }
    }

    /** The next operation of a busy stream is reached at once, so that sleeping would cost more than it. */
    private int await(long event, long spinNanos) {
        long begun = System.nanoTime();
        int reached = cuda.eventQuery(event);
        while (reached == Cuda.ERROR_NOT_READY && System.nanoTime() - begun < spinNanos) {
            Thread.onSpinWait();
            reached = cuda.eventQuery(event);
        }
        return reached == Cuda.ERROR_NOT_READY ? cuda.eventSynchronize(event) : reached;
    }

    private @Nullable ParkedOperation<L> take() {
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
        lanes.giveBack(lane);
    }

    /** From now on no operation is being put into the stream. */
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
