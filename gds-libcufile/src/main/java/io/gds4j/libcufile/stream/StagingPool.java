package io.gds4j.libcufile.stream;

import io.gds4j.engine.memory.StreamWaits;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
import io.gds4j.libcufile.process.CurrentContext;
import io.gds4j.libcufile.process.OpenLibrary;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The staging slabs of a session. All of them, and the streams that copy from and to them, are made at a time when no stream
 * waits for us, and nothing is made, pinned or freed later: such calls wait for all streams. Who holds a slab needs nothing that
 * somebody else holds, so whoever waits for one gets it. Thread-safe.
 */
final class StagingPool {
    private static final int SLABS = 8;

    private final CudaContexts contexts;
    private final StreamWaits waits;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition released = lock.newCondition();
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

    private boolean isPrepared(long context) {
        lock.lock();
        try {
            return !all.isEmpty() && (context == CurrentContext.NONE || all.getLast().isPrepared(context));
        } finally {
            lock.unlock();
        }
    }

    private void make(long context) {
        lock.lock();
        try {
            if (closed) {
                throw OpenLibrary.closed("cuFileStreamRegister");
            }
            if (all.isEmpty()) {
                allocate();
            }
            if (context != CurrentContext.NONE) {
                all.forEach(slab -> slab.prepare(context));
            }
        } finally {
            lock.unlock();
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
            StagingSlab slab = new StagingSlab(contexts, memory + i * StagingSlab.BYTES);
            all.add(slab);
            idle.add(slab);
        }
    }

    /** A slab; waits for one. */
    StagingSlab acquire() {
        lock.lock();
        try {
            if (all.isEmpty()) {
                throw new IllegalStateException("no slabs are prepared");
            }
            while (idle.isEmpty()) {
                released.awaitUninterruptibly();
            }
            return idle.pop();
        } finally {
            lock.unlock();
        }
    }

    void release(StagingSlab slab) {
        lock.lock();
        try {
            idle.push(slab);
            released.signal();
        } finally {
            lock.unlock();
        }
    }

    /** Frees everything; nothing may be in use, and nothing is made after. */
    void close() {
        boolean nothing;
        lock.lock();
        try {
            closed = true;
            nothing = all.isEmpty();
        } finally {
            lock.unlock();
        }
        if (!nothing) {
            waits.whileNone(this::free);
        }
    }

    private void free() {
        lock.lock();
        try {
            all.forEach(StagingSlab::close);
            contexts.in(contexts.primary(0), () -> contexts.cuda().memFreeHost(memory));
            all.clear();
            idle.clear();
        } finally {
            lock.unlock();
        }
    }
}
