package io.gds4j.engine.staging;

import io.gds4j.engine.kernel.GatherKernel;
import io.gds4j.engine.kernel.GatherKernels;
import io.gds4j.engine.machine.TransferCosts;
import io.gds4j.engine.memory.StreamWaits;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * All that requests need to copy to and from memory of one CUDA context: pinned slabs, lanes and kernels. Making these are calls that may
 * wait for all streams and kernels of the program. So all is made at the first use of the context, or before by {@link #prepare}, while no
 * stream waits for this process; later no request makes such a call. A request that finds no lane waits for its turn. Thread-safe.
 */
public final class PreparedGpu {
    private final CudaContexts contexts;
    private final Cuda cuda;
    private final BouncePool pool;
    private final StreamWaits waits;
    private final long handle;
    private final long id;
    private final Consumer<PreparedGpu> firstUse;

    /**
     * Number of requests that copy to a context at the same time, each with a slab. More wait for their turn: the link is long busy then. A
     * lane takes 0.15 ms of the first use.
     */
    private final int most;
    private final IdlePlaces<CopyLane> idle = new IdlePlaces<>();
    private final WaitingLine line = new WaitingLine("a CUDA stream of its own", new ReentrantLock());

    /** Guards what is made. */
    private final Object making = new Object();

    /** Those of requests, and last the one of threads that streams wait for. */
    private final List<CopyLane> lanes = new ArrayList<>();
    private long boards;
    private volatile boolean hasLanes;
    private volatile @Nullable GatherKernel kernel;

    /** Numbers of the pool's trims before which all was made, and before which the context was first used; -1 if never. */
    private volatile long preparedAt = -1;
    private volatile long usedAt = -1;

    /** A helper waits for the others and loads the kernel. */
    private final AtomicBoolean completing = new AtomicBoolean();

    /**
     * @param handle the raw {@code CUcontext}
     * @param id tells the context from a later one at the same address
     * @param firstUse has other threads help to prepare this; returns at once
     */
    PreparedGpu(CudaContexts contexts, BouncePool pool, long handle, long id, Consumer<PreparedGpu> firstUse) {
        this.contexts = contexts;
        this.cuda = contexts.cuda();
        this.pool = pool;
        this.waits = pool.waits();
        this.handle = handle;
        this.id = id;
        this.firstUse = firstUse;
        this.most = (int) Math.min(IdlePlaces.PLACES, pool.slabs());
    }

    CudaContexts contexts() {
        return contexts;
    }

    public Cuda cuda() {
        return cuda;
    }

    /** Returns the raw {@code CUcontext}. */
    long handle() {
        return handle;
    }

    public boolean isOf(long context, long idOfContext) {
        return handle == context && id == idOfContext;
    }

    /** Returns the kernel that copies gathered reads; null if it is not loaded yet or the driver refuses it. */
    @Nullable
    GatherKernel kernel() {
        return kernel;
    }

    /** Returns whether the context that holds the lanes still is. */
    public boolean isAlive() {
        return hasLanes && contexts.isAlive(handle, id, boards);
    }

    /** Returns whether the program has surely destroyed the context. */
    public boolean isGone() {
        return hasLanes && boards != 0 && !contexts.isRetained(handle) && !contexts.has(handle, boards);
    }

    /** Returns whether all is made. */
    boolean isPrepared() {
        return preparedAt == pool.trims();
    }

    /**
     * Makes what is missing, and returns once all is made, by this thread or another. Waits until no stream waits for this process.
     *
     * @throws CuFileException if the driver refuses lanes
     */
    public void prepare() {
        prepare(pool.trims());
    }

    /** @param since number of the pool's trims when this was asked for: a later one makes it void */
    void prepare(long since) {
        if (preparedAt != since && pool.trims() == since) {
            firstUse();
            makeLanes();
            pool.prepare(since);
            loadKernel();
            preparedAt = since;
        }
    }

    /**
     * Makes what is missing and no other thread makes. One thread alone waits for the others and then loads the kernel, which takes 10 ms: the
     * others have time for requests.
     */
    void help(long since) {
        if (preparedAt != since && pool.trims() == since) {
            firstUse();
            pool.pinAll(since);
            if (completing.compareAndSet(false, true)) {
                try {
                    prepare(since);
                } finally {
                    completing.set(false);
                }
            }
        }
    }

    private void loadKernel() {
        if (kernel == null && boards != 0) {
            kernel = GatherKernels.of(contexts).load(contexts, handle, id);
        }
    }

    private void firstUse() {
        long trims = pool.trims();
        if (usedAt != trims) {
            usedAt = trims;
            pool.serveGpus();
            firstUse.accept(this);
        }
    }

    /**
     * Takes a lane for a request; waits for one if all are in use. For threads that hold neither lanes of this context nor slabs.
     *
     * @return null if the request is over
     * @throws CuFileException if the driver refuses lanes
     */
    @Nullable
    CopyLane take(PieceFailures request) {
        if (!isPrepared()) {
            firstUse();
            makeLanes();
        }
        CopyLane lane = line.isEmpty() ? idle.take() : null;
        return lane == null ? line.await(idle::take, request::isOver) : lane;
    }

    /** Takes a lane back. */
    void give(CopyLane lane) {
        while (!idle.give(lane)) {
            Thread.onSpinWait(); // there is a place for each lane, which another thread is about to leave
        }
        line.changed();
    }

    /**
     * Copies from pinned memory to memory of the context and waits for the copy. For threads that streams wait for: a lane of their own serves
     * them, one copy at a time. The context is prepared.
     *
     * @return a {@code CUresult}
     */
    public int copyToGpu(long to, long from, long bytes) {
        CopyLane lane = lanes.getLast();
        synchronized (lane) {
            int started = lane.copyToGpu(0, to, from, bytes);
            int copied = lane.finish(0, TransferCosts.STREAM_THREAD_POLL_NANOS, LockSupport::parkNanos);
            return started != Cuda.SUCCESS ? started : copied;
        }
    }

    /** As {@link #copyToGpu}, in the other direction. */
    public int copyToHost(long to, long from, long bytes) {
        CopyLane lane = lanes.getLast();
        synchronized (lane) {
            int started = lane.copyToHost(0, to, from, bytes);
            int copied = lane.finish(0, TransferCosts.STREAM_THREAD_POLL_NANOS, LockSupport::parkNanos);
            return started != Cuda.SUCCESS ? started : copied;
        }
    }

    /** Ends a request, whose thread holds nothing any more. The first one returns once all is made, unless streams wait. */
    void finish() {
        if (!isPrepared() && !waits.any()) {
            try {
                prepare();
            } catch (CuFileException e) {
                // the request itself is over; one that needs what is missing will report this
            }
        }
    }

    private void makeLanes() {
        if (!hasLanes) {
            waits.whileNone(() -> {
                synchronized (making) {
                    if (!hasLanes) {
                        CudaErrors.check(cuda, "cuCtxPushCurrent", contexts.enter(handle));
                        try {
                            makeAll();
                        } finally {
                            contexts.leave();
                        }
                    }
                }
            });
        }
    }

    private void makeAll() {
        long[] out = new long[1];
        int mapped = Cuda.MEM_HOST_PORTABLE | Cuda.MEM_HOST_DEVICEMAP;
        int allocated = cuda.memHostAlloc(out, (most + 1) * CopyLane.KERNEL_BYTES, mapped);
        boards = allocated == Cuda.SUCCESS ? out[0] : 0; // without boards copy engines serve all requests
        boolean made = false;
        try {
            for (int i = 0; i <= most; i++) {
                lanes.add(CopyLane.withKernels(
                        contexts, handle, id, boards == 0 ? 0 : boards + i * CopyLane.KERNEL_BYTES));
            }
            made = true;
        } finally {
            if (!made) {
                destroy();
            }
        }
        for (int i = 0; i < most; i++) {
            idle.give(lanes.get(i));
        }
        hasLanes = true;
    }

    /** Destroys lanes. A kernel that was called off may still read its board: then the memory of the boards stays. */
    private void destroy() {
        boolean boardsInUse = false;
        for (CopyLane lane : lanes) {
            boardsInUse |= lane.isBehind() && cuda.streamQuery(lane.kernelStream()) != Cuda.SUCCESS;
            lane.destroy();
        }
        lanes.clear();
        if (!boardsInUse && boards != 0) {
            cuda.memFreeHost(boards);
        }
    }

    /**
     * Frees what was made; no request may be at work. A context that the program has destroyed has freed it already. If a stream waits for
     * this process, it stays until the process ends: freeing it would wait for the stream.
     */
    void close() {
        synchronized (making) {
            if (isAlive() && waits.tryEnterCall()) {
                try {
                    if (contexts.enter(handle) == Cuda.SUCCESS) {
                        destroy();
                        contexts.leave();
                    }
                } finally {
                    waits.leaveCall();
                }
            }
            hasLanes = false;
            preparedAt = -1;
        }
    }
}
