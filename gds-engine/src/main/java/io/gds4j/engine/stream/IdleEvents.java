package io.gds4j.engine.stream;

import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaErrors;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/** A pool of events of one context. Thread-safe. */
final class IdleEvents {
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
