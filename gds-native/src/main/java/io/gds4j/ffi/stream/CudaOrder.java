package io.gds4j.ffi.stream;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
import io.gds4j.ffi.cuda.StreamWaits;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The order of a CUDA stream. At submission an event is recorded in the stream, and the stream is told to wait for a word. A
 * thread of our own waits for the event, moves the bytes through streams of our own, and sets the word, whatever came of it.
 * Nothing of ours runs on a thread of CUDA's, and no call on the program's stream is made elsewhere than on the submitting
 * thread, so that its per-thread stream works, too.
 *
 * <p>
 * While the stream waits for the word, it is invisible to CUDA's scheduler: whatever synchronises implicitly, such as pinning
 * memory, would wait for it and might keep its operation from being done. All such things are made beforehand.
 *
 * @param <L> what the thread works with
 */
final class CudaOrder<L> implements StreamOrder<L> {
    private static final String SUBMIT = "cuFileReadAsync";
    private static final long SPIN_NANOS = 50_000;

    /** CUDA's queue for a stream has 1024 places, some for each of ours and some for the program's own work between. */
    private static final long MOST_PENDING = 128;

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
    /**
     * Held while operations are put into the stream, which keeps their order. Those calls wait when CUDA's queue for the stream is
     * full, so that what makes room there needs another lock.
     */
    private final ReentrantLock submission = new ReentrantLock();

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final Deque<Parked<L>> queue = new ArrayDeque<>();
    private final Deque<Long> idleEvents = new ArrayDeque<>();
    private @Nullable Thread worker;
    private long pending;

    /** Operations for which the stream counts as waiting. Under the lock. */
    private int waits;

    private boolean closed;

    /** An operation for which the stream waits. */
    private record Parked<L>(StreamOperation<L> operation, long event, int turn) {
    }

    /**
     * @param stream raw {@code CUstream}
     * @param anyContext the stream is one of CUDA's special ones: it means the submitting thread's context
     */
    CudaOrder(
            long stream,
            boolean anyContext,
            long context,
            int flags,
            CudaContexts contexts,
            StreamLanes<L> lanes,
            ReleaseWords words) {
        this.stream = stream;
        this.anyContext = anyContext;
        this.context = context;
        this.flags = flags;
        this.contexts = contexts;
        this.cuda = contexts.cuda();
        this.streamWaits = contexts.streamWaits();
        this.lanes = lanes;
        this.words = words;
        this.word = words.take();
        try {
            this.lane = lanes.borrow(context);
        } catch (RuntimeException e) {
            words.giveBack(word);
            throw e;
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
            while (pending >= MOST_PENDING && !closed) {
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
        long event = event();
        boolean parked = false;
        streamWaits.begin(countWait());
        try {
            CudaErrors.check(cuda, "cuEventRecord", cuda.eventRecord(event, stream));
            int turn = word.next();
            CudaErrors.check(
                    cuda,
                    "cuStreamWaitValue32",
                    cuda.streamWaitValue32(stream, word.address(), turn, Cuda.STREAM_WAIT_VALUE_GEQ));
            word.waitsForNext();
            parked = true;
        } finally {
            lock.lock();
            try {
                if (parked) {
                    pending++;
                    queue.add(new Parked<>(operation, event, word.turns()));
                    startWorker();
                    changed.signalAll();
                } else {
                    idleEvents.push(event);
                }
            } finally {
                lock.unlock();
            }
            if (!parked) {
                streamWaits.end(uncountWait());
            }
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

    private long event() {
        lock.lock();
        try {
            Long idle = idleEvents.poll();
            if (idle != null) {
                return idle;
            }
        } finally {
            lock.unlock();
        }
        long[] event = new long[1];
        int how = Cuda.EVENT_DISABLE_TIMING | Cuda.EVENT_BLOCKING_SYNC;
        CudaErrors.check(cuda, "cuEventCreate", cuda.eventCreate(event, how));
        return event[0];
    }

    private void startWorker() {
        if (worker == null) {
            Thread thread = Thread.ofPlatform().daemon().name("gds4j-stream").unstarted(this::serve);
            worker = thread;
            thread.start();
        }
    }

    private void serve() {
        Parked<L> parked = take();
        while (parked != null) {
            serve(parked);
            parked = take();
        }
    }

    private void serve(Parked<L> parked) {
        try {
            int reached = contexts.in(context, () -> await(parked.event()));
            if (reached == Cuda.SUCCESS) {
                parked.operation().run(lane);
            } else {
                parked.operation().fail(CudaErrors.failure(cuda, "cuEventSynchronize", reached).build());
            }
        } finally {
            word.release(parked.turn());
            streamWaits.end(uncountWait());
            lock.lock();
            try {
                idleEvents.push(parked.event());
                pending--;
                changed.signalAll();
            } finally {
                lock.unlock();
            }
        }
    }

    /** The next operation of a busy stream is reached at once, so that sleeping would cost more than it. */
    private int await(long event) {
        long begun = System.nanoTime();
        int reached = cuda.eventQuery(event);
        while (reached == Cuda.ERROR_NOT_READY && System.nanoTime() - begun < SPIN_NANOS) {
            Thread.onSpinWait();
            reached = cuda.eventQuery(event);
        }
        return reached == Cuda.ERROR_NOT_READY ? cuda.eventSynchronize(event) : reached;
    }

    private @Nullable Parked<L> take() {
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
        boolean interrupted = false;
        while (serving != null && serving.isAlive()) {
            try {
                serving.join();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        contexts.in(context, () -> {
            idleEvents.forEach(cuda::eventDestroy);
            return Cuda.SUCCESS;
        });
        words.giveBack(word);
        lanes.giveBack(lane);
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
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
