package io.gds4j.engine.stream;

import io.gds4j.engine.kernel.PieceBoard;
import io.gds4j.engine.machine.TransferCosts;
import io.gds4j.engine.staging.EventWait;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/** Waits for a CUDA stream and lets it pass its steps. Thread-safe. */
final class CudaStreamTurns implements StreamTurns {
    private final CudaContexts contexts;
    private final Cuda cuda;
    private final long context;
    private final ReleaseWord word;
    private final StreamSteps steps;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();

    /** The last step that the stream may pass, and the last one whose operation needs nothing more that others hold. Guarded by lock. */
    private int released;
    private int supplied;

    CudaStreamTurns(CudaContexts contexts, long context, ReleaseWord word, StreamSteps steps) {
        this.contexts = contexts;
        this.cuda = contexts.cuda();
        this.context = context;
        this.word = word;
        this.steps = steps;
        this.released = word.turns();
        this.supplied = released;
    }

    @Override
    public int await(long event) {
        return contexts.in(
                context,
                () -> EventWait.spinThenPollRarely(cuda, event, TransferCosts.TURN_SPIN_NANOS, LockSupport::parkNanos));
    }

    @Override
    public int awaitCopy(long event) {
        return contexts.in(
                context,
                () -> EventWait.spinThenPoll(
                        cuda, event, TransferCosts.TURN_COPY_SPIN_NANOS, TransferCosts.TURN_COPY_PAUSE_NANOS,
                        LockSupport::parkNanos));
    }

    @Override
    public boolean isPast(long event) {
        return contexts.in(context, () -> cuda.eventQuery(event)) != Cuda.ERROR_NOT_READY;
    }

    @Override
    public boolean isIdle() {
        return steps.query() != Cuda.ERROR_NOT_READY;
    }

    @Override
    public void awaitBefore(Step step) {
        lock.lock();
        try {
            while (Math.min(released - (step.turn() - 1), supplied - (step.turn() - 1)) < 0) {
                changed.awaitUninterruptibly();
            }
        } finally {
            lock.unlock();
        }
    }

    @Override
    public int awaitNext(Step first) {
        awaitBefore(first);
        return steps.hasBell() && first.copy() instanceof StreamCopy.Pieces(StreamBoard board, int request)
                && isRungSoon(board.board(), request)
                        ? Cuda.SUCCESS
                        : await(first.reached());
    }

    private boolean isRungSoon(PieceBoard board, int request) {
        long begun = System.nanoTime();
        long waited = 0;
        boolean rung = board.isRung(request);
        while (!rung && waited < TransferCosts.BELL_NANOS) {
            if (waited < TransferCosts.BELL_SPIN_NANOS) {
                Thread.onSpinWait();
            } else {
                LockSupport.parkNanos(TransferCosts.BELL_PAUSE_NANOS);
            }
            rung = board.isRung(request);
            waited = System.nanoTime() - begun;
        }
        return rung;
    }

    @Override
    public void release(Step step) {
        letIn(step);
        supplied(step);
    }

    @Override
    public void letIn(Step step) {
        word.release(step.turn());
        lock.lock();
        try {
            released = step.turn() - released > 0 ? step.turn() : released;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void supplied(Step step) {
        lock.lock();
        try {
            supplied = step.turn() - supplied > 0 ? step.turn() : supplied;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void leave(Step step) {
        steps.keep(step);
    }

    @Override
    public RuntimeException failure(int result) {
        return CudaErrors.failure(cuda, "cuEventSynchronize", result).build();
    }
}
