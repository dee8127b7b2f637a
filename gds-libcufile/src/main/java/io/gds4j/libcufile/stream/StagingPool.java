package io.gds4j.libcufile.stream;

import io.gds4j.engine.memory.StreamWaits;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
import io.gds4j.internal.lifetime.Uninterruptibly;
import io.gds4j.libcufile.process.CurrentContext;
import io.gds4j.libcufile.process.OpenLibrary;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/**
 * A pool of the staging slabs of a session. It makes all slabs, and the streams that copy from and to them, while no stream waits
 * for gds4j, because such calls wait for all streams. It pins and frees nothing later. A thread that holds a slab needs nothing
 * that another thread holds, so a thread that waits for a slab gets one. Thread-safe.
 *
 * <p>
 * The engine's {@code BouncePool} does not replace it: that pool also hands out slabs that CUDA refused to pin, and a copy from
 * pageable memory waits for waiting streams. A slab has lanes of its own, because a thread must not wait for those of requests.
 */
final class StagingPool {
    /** Number of slabs of a session, and of operations that move bytes at a time. */
    private static final int SLABS = 8;

    private final CudaContexts contexts;
    private final StreamWaits waits;
    private final List<StagingSlab> all = new ArrayList<>();
    private final Deque<StagingSlab> idle = new ArrayDeque<>();
    private long memory;
    private boolean closed;

    StagingPool(CudaContexts contexts) {
        this.contexts = contexts;
        this.waits = StreamWaits.of(contexts);
    }

    /**
     * Makes the slabs, and what copies in this context need; {@link CurrentContext#NONE} for slabs alone.
     *
     * @throws io.gds4j.error.CuFileException if there is no memory for them, or the session is closed
     */
    void prepare(long context) {
        if (!isPrepared(context)) {
            waits.whileNone(() -> make(context));
        }
    }

    private synchronized boolean isPrepared(long context) {
        return !all.isEmpty() && (context == CurrentContext.NONE || all.getLast().isPrepared(context));
    }

    private synchronized void make(long context) {
        if (closed) {
            throw OpenLibrary.closed("cuFileStreamRegister");
        }
        if (all.isEmpty()) {
            allocate();
        }
        if (context != CurrentContext.NONE) {
            all.forEach(slab -> slab.prepare(context));
        }
    }

    private void allocate() {
        Cuda cuda = contexts.cuda();
        long[] pointer = new long[1];
        CudaErrors.check(
                cuda,
                "cuMemHostAlloc",
                contexts.in(
                        contexts.primary(0),
                        () -> cuda.memHostAlloc(pointer, SLABS * StagingSlab.BYTES, Cuda.MEM_HOST_PORTABLE)));
        memory = pointer[0];
        for (int i = 0; i < SLABS; i++) {
            all.add(new StagingSlab(contexts, memory + i * StagingSlab.BYTES));
        }
        idle.addAll(all);
    }

    /** Waits for a slab and returns it; {@link #release} takes it back. */
    synchronized StagingSlab acquire() {
        if (all.isEmpty()) {
            throw new IllegalStateException("no slabs are prepared");
        }
        Uninterruptibly.await(this::awaitIdle);
        return idle.pop();
    }

    private synchronized void awaitIdle() throws InterruptedException {
        while (idle.isEmpty()) {
            wait();
        }
    }

    synchronized void release(StagingSlab slab) {
        idle.push(slab);
        notifyAll();
    }

    /** Frees everything; no slab is in use. Later calls of {@link #prepare} fail. */
    void close() {
        if (hasSlabsAtClose()) {
            waits.whileNone(this::free);
        }
    }

    private synchronized boolean hasSlabsAtClose() {
        closed = true;
        return !all.isEmpty();
    }

    private synchronized void free() {
        all.forEach(StagingSlab::close);
        contexts.in(contexts.primary(0), () -> contexts.cuda().memFreeHost(memory));
        all.clear();
    }
}
