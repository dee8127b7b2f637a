package io.gds4j.engine.staging;

import io.gds4j.engine.machine.TransferCosts;
import io.gds4j.ffi.cuda.Cuda;

/**
 * Waits for CUDA events. A blocking wait ends with an interrupt, which takes up to 100 microseconds. So the thread polls an event
 * for a while before it blocks. Allocates nothing.
 */
public final class EventWait {
    private EventWait() {
    }

    /** Sleeps between two polls. */
    public interface Pause {
        /** Sleeps for about {@code nanos}. */
        void sleep(long nanos);
    }

    /**
     * Polls without a pause for {@code spinNanos}, then blocks. For events that are nearly complete.
     *
     * @return a {@code CUresult}
     */
    public static int spin(Cuda cuda, long event, long spinNanos) {
        long begun = System.nanoTime();
        int result = cuda.eventQuery(event);
        while (result == Cuda.ERROR_NOT_READY && System.nanoTime() - begun < spinNanos) {
            Thread.onSpinWait();
            result = cuda.eventQuery(event);
        }
        return blockUnlessReady(cuda, event, result);
    }

    /**
     * Polls 32 times, {@code nanos} apart, then blocks. For events that take at least as long as a sleep.
     *
     * @return a {@code CUresult}
     */
    public static int poll(Cuda cuda, long event, long nanos, Pause pause) {
        int result = cuda.eventQuery(event);
        for (int i = 0; result == Cuda.ERROR_NOT_READY && i < TransferCosts.EVENT_POLLS; i++) {
            pause.sleep(nanos);
            result = cuda.eventQuery(event);
        }
        return blockUnlessReady(cuda, event, result);
    }

    /**
     * Polls without a pause for {@code spinNanos}, then with pauses. For events that must not be made for blocking.
     *
     * @return a {@code CUresult}
     */
    public static int spinThenPoll(Cuda cuda, long event, long spinNanos, long pauseNanos, Pause pause) {
        long begun = System.nanoTime();
        int result = cuda.eventQuery(event);
        while (result == Cuda.ERROR_NOT_READY) {
            if (System.nanoTime() - begun < spinNanos) {
                Thread.onSpinWait();
            } else {
                pause.sleep(pauseNanos);
            }
            result = cuda.eventQuery(event);
        }
        return result;
    }

    /**
     * Polls without a pause for {@code spinNanos}, then with pauses of a sixteenth of the time so far. For events that must not be made for
     * blocking, and may take long.
     *
     * @return a {@code CUresult}
     */
    public static int spinThenPollRarely(Cuda cuda, long event, long spinNanos, Pause pause) {
        long begun = System.nanoTime();
        int result = cuda.eventQuery(event);
        while (result == Cuda.ERROR_NOT_READY) {
            long waited = System.nanoTime() - begun;
            if (waited < spinNanos) {
                Thread.onSpinWait();
            } else {
                pause.sleep(Math.clamp(waited / 16, TransferCosts.EVENT_PAUSE_NANOS,
                        TransferCosts.EVENT_MAX_PAUSE_NANOS));
            }
            result = cuda.eventQuery(event);
        }
        return result;
    }

    private static int blockUnlessReady(Cuda cuda, long event, int result) {
        return result == Cuda.ERROR_NOT_READY ? cuda.eventSynchronize(event) : result;
    }
}
