package io.gds4j.engine.staging;

import io.gds4j.ffi.cuda.Cuda;

/**
 * Waits for CUDA events. Being woken by the GPU is an interrupt, which takes up to 100 microseconds, so that an event is polled for a
 * while before the driver is asked to wait for it. Allocates nothing.
 */
public final class EventWait {
    private EventWait() {
    }

    /** Lets time pass between two polls. */
    public interface Pause {
        /** Sleeps for about {@code nanos}. */
        void sleep(long nanos);
    }

    /**
     * Polls without a pause for {@code spinNanos}, then blocks. For events that are due at once.
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
     * Polls {@code polls} times, {@code nanos} apart, then blocks. For events that take as long as sleeping does.
     *
     * @return a {@code CUresult}
     */
    public static int poll(Cuda cuda, long event, int polls, long nanos, Pause pause) {
        int result = cuda.eventQuery(event);
        for (int i = 0; result == Cuda.ERROR_NOT_READY && i < polls; i++) {
            pause.sleep(nanos);
            result = cuda.eventQuery(event);
        }
        return blockUnlessReady(cuda, event, result);
    }

    private static int blockUnlessReady(Cuda cuda, long event, int result) {
        return result == Cuda.ERROR_NOT_READY ? cuda.eventSynchronize(event) : result;
    }
}
