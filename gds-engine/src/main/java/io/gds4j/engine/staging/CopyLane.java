package io.gds4j.engine.staging;

import io.gds4j.engine.kernel.FragmentTable;
import io.gds4j.engine.kernel.PieceBoard;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
import io.gds4j.internal.file.Pages;
import io.gds4j.internal.trace.FlightEvents;
import io.gds4j.internal.trace.FlightEvents.PieceCopy;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What one thread at a time copies to or from a CUDA context with: a stream, an event for each slab whose copy may run, and for kernels a
 * stream of their own and a board. Made while no stream waits for this process, and reused.
 *
 * <p>
 * Methods that return a {@code CUresult} need the context to be current, between {@link #push} and {@link #pop}, except
 * {@link #copyToGpu}, {@link #copyToHost} and {@link #finish}, which see to that.
 */
public final class CopyLane {
    /** Number of events. */
    public static final int EVENTS = 2;

    private static final long TABLES = Pages.up(PieceBoard.BYTES);

    /** Bytes of pinned memory for the kernels of a lane, a multiple of a page. */
    static final long KERNEL_BYTES = TABLES + Pages.up(EVENTS * FragmentTable.BYTES);

    /** Smallest plain copy that a copy engine makes, in bytes. The driver puts smaller ones into the command queue. */
    private static final long ENGINE_BYTES = 64 << 10;

    /** The driver takes the highest priority that the GPU has. */
    private static final int HIGHEST_PRIORITY = -100;

    private final CudaContexts contexts;
    private final Cuda cuda;
    private final long context;

    /** Tells the context from a later one at the same address. */
    private final long id;
    private final long[] events = new long[EVENTS];
    private final boolean[] busy = new boolean[EVENTS];

    /** Bytes of the copies that an event ends. */
    private final long[] bytes = new long[EVENTS];

    /** For each slot, the event of the copy that runs; null unless a recording wants it. */
    private final @Nullable PieceCopy[] copying = new PieceCopy[EVENTS];

    private final @Nullable PieceBoard board;

    /** For each slot, what a kernel copies; null without memory for boards. */
    private final @Nullable FragmentTable[] tables = new FragmentTable[EVENTS];

    /** For each slot, whether its event ends a kernel, and whether that copies to the GPU. */
    private final boolean[] byKernel = new boolean[EVENTS];
    private final boolean[] toGpu = new boolean[EVENTS];
    private int made;

    /** Memory that tells whether the context is alive; 0 if there is none. */
    private long mark;

    /** Stream of copies by an engine. */
    private long stream;

    /** Stream of kernels, of the highest priority; 0 if there is none. */
    private long kernelStream;

    /** The first piece of which copies to other GPUs may still run; -1 if there is none. */
    private long firstToPeers = -1;

    /** True while a kernel of an earlier request may not have begun: it reads the board. */
    private boolean behind;

    /** @param memory pinned memory of {@link #KERNEL_BYTES}; 0 for none */
    private CopyLane(CudaContexts contexts, long context, long id, long memory) {
        this.contexts = contexts;
        this.cuda = contexts.cuda();
        this.context = context;
        this.id = id;
        this.board = memory == 0 ? null : PieceBoard.at(memory);
        for (int i = 0; i < EVENTS && memory != 0; i++) {
            tables[i] = FragmentTable.at(memory + TABLES + i * FragmentTable.BYTES);
        }
    }

    /**
     * Makes a lane of copies, while no stream waits.
     *
     * @throws io.gds4j.error.CuFileException if the driver refuses; nothing is left then
     */
    public static CopyLane of(CudaContexts contexts, long context) {
        CopyLane lane = new CopyLane(contexts, context, contexts.idOf(context), 0);
        CudaErrors.check(contexts.cuda(), "cuCtxPushCurrent", lane.push());
        try {
            lane.make(false);
            lane.mark = contexts.mark(context);
        } finally {
            lane.pop();
        }
        return lane;
    }

    /**
     * Makes a lane of copies and kernels. The context is current.
     *
     * @param memory pinned memory of {@link #KERNEL_BYTES}; 0 if there is none
     */
    static CopyLane withKernels(CudaContexts contexts, long context, long id, long memory) {
        CopyLane lane = new CopyLane(contexts, context, id, memory);
        lane.make(true);
        return lane;
    }

    private void make(boolean kernels) {
        long[] out = new long[1];
        boolean complete = false;
        try {
            CudaErrors.check(cuda, "cuStreamCreate", cuda.streamCreate(out, Cuda.STREAM_NON_BLOCKING));
            stream = out[0];
            if (kernels) {
                CudaErrors.check(cuda, "cuStreamCreateWithPriority",
                        cuda.streamCreateWithPriority(out, Cuda.STREAM_NON_BLOCKING, HIGHEST_PRIORITY));
                kernelStream = out[0];
            }
            for (; made < EVENTS; made++) {
                int flags = Cuda.EVENT_DISABLE_TIMING | Cuda.EVENT_BLOCKING_SYNC;
                CudaErrors.check(cuda, "cuEventCreate", cuda.eventCreate(out, flags));
                events[made] = out[0];
            }
            complete = true;
        } finally {
            if (!complete) {
                destroy();
            }
        }
    }

    /** Destroys what was made. The context is current. */
    void destroy() {
        for (int i = 0; i < made; i++) {
            cuda.eventDestroy(events[i]);
        }
        if (stream != 0) {
            cuda.streamDestroy(stream);
        }
        if (kernelStream != 0) {
            cuda.streamDestroy(kernelStream);
        }
    }

    /** Destroys what {@link #of} made, while no stream waits. A context that the program has destroyed has destroyed its own. */
    public void close() {
        if (contexts.isAlive(context, id, mark) && push() == Cuda.SUCCESS) {
            destroy();
            contexts.unmark(mark);
            pop();
        }
    }

    /** Returns whether the context still is the one that the lane was made in. */
    public boolean isOfItsContext() {
        return id == contexts.idOf(context);
    }

    /**
     * Makes the context current for this thread. Fails only if the context or the driver is gone; its copies have ended then. So a wait that
     * fails here waits for nothing: events of a destroyed context must not be touched.
     */
    int push() {
        return contexts.enter(context);
    }

    /** Restores the context from before a {@link #push} that succeeded. */
    void pop() {
        contexts.leave();
    }

    long stream() {
        return stream;
    }

    long kernelStream() {
        return kernelStream;
    }

    PieceBoard board() {
        return Objects.requireNonNull(board, "a kernel is loaded only if there are boards");
    }

    /** Returns the table of a slot; null if there is no memory for it. */
    @Nullable
    FragmentTable table(int slot) {
        return tables[slot];
    }

    boolean isBehind() {
        return behind;
    }

    void setBehind(boolean value) {
        behind = value;
    }

    /**
     * Starts a copy to the GPU. While streams wait for this process, a copy engine makes small copies, too: in the command queue, they would stay
     * behind waiting streams of the same channel. A single byte goes there nevertheless; no stream waits for it.
     */
    int toGpu(long to, long from, long count, boolean streamsWait) {
        return streamsWait ? toGpuByEngine(to, from, count) : cuda.memcpyHtoDAsync(to, from, count, stream);
    }

    /**
     * Starts a copy to the GPU that a copy engine makes whatever its size. A copy of a single byte has no two rows, and goes through the command queue.
     *
     * @return a {@code CUresult}
     */
    private int toGpuByEngine(long to, long from, long count) {
        if (count >= ENGINE_BYTES) {
            return cuda.memcpyHtoDAsync(to, from, count, stream);
        }
        long width = Math.max(1, count / 2);
        int result = cuda.memcpyRowsHtoDAsync(to, from, width, Math.min(2, count), stream);
        if (result == Cuda.SUCCESS && count > 2 && count % 2 != 0) {
            // Copies the odd byte and the one before it, as two rows.
            result = cuda.memcpyRowsHtoDAsync(to + count - 2, from + count - 2, 1, 2, stream);
        }
        return result;
    }

    /** Starts a copy from the GPU. */
    int toHost(long to, long from, long count) {
        return cuda.memcpyDtoHAsync(to, from, count, stream);
    }

    /** Starts a copy of a piece's bytes to the context of another GPU, behind the copies so far. */
    int toPeer(long peer, long to, long from, long count, long piece) {
        int result = cuda.memcpyPeerAsync(to, peer, from, context, count, stream);
        if (result == Cuda.SUCCESS) {
            firstToPeers = firstToPeers < 0 ? piece : Math.min(firstToPeers, piece);
        }
        return result;
    }

    /** Returns and forgets the first piece that was copied to other GPUs; -1 if there is none. */
    long takeFirstToPeers() {
        long first = firstToPeers;
        firstToPeers = -1;
        return first;
    }

    /** Has an event pass when the copies so far are complete. The slot is busy then, unless this fails. */
    int record(int slot, long count) {
        return record(slot, count, stream);
    }

    private int record(int slot, long count, long ofStream) {
        int recorded = cuda.eventRecord(events[slot], ofStream);
        busy[slot] = recorded == Cuda.SUCCESS;
        byKernel[slot] = ofStream != stream;
        bytes[slot] = count;
        copying[slot] = FlightEvents.pieceCopy();
        return recorded;
    }

    /** As {@link #record} for a kernel that copies the fragments of a slot. Waits for the kernel if the driver refuses the event. */
    int recordKernel(int slot, long count, boolean intoGpu) {
        toGpu[slot] = intoGpu;
        int recorded = record(slot, count, kernelStream);
        return recorded == Cuda.SUCCESS ? recorded : cuda.streamSynchronize(kernelStream);
    }

    /** Returns whether the event of a slot ends a kernel. */
    boolean isByKernel(int slot) {
        return byKernel[slot];
    }

    boolean isToGpu(int slot) {
        return toGpu[slot];
    }

    /** Returns SUCCESS once the event of a slot has passed. */
    int query(int slot) {
        return cuda.eventQuery(events[slot]);
    }

    /** Returns whether copies that an event ends may run. */
    boolean isBusy(int slot) {
        return busy[slot];
    }

    /** Forgets the event of a slot: copies behind it in the stream are complete. */
    void free(int slot) {
        busy[slot] = false;
        ended(slot);
    }

    private void ended(int slot) {
        PieceCopy event = copying[slot];
        if (event != null) {
            copying[slot] = null;
            event.record(gpu(), bytes[slot]);
        }
    }

    /** Returns the number of the GPU; -1 for a context that the program made. */
    int gpu() {
        return contexts.ordinalOf(context);
    }

    /** Returns the bytes of the copies that an event ends. */
    long bytes(int slot) {
        return bytes[slot];
    }

    /** Waits for the event of a slot, which is free then, and returns how its copies ended. */
    int await(int slot, long pollNanos, EventWait.Pause pause) {
        busy[slot] = false;
        int result = EventWait.poll(cuda, events[slot], pollNanos, pause);
        ended(slot);
        return result;
    }

    /** Waits for all copies. */
    int synchronize() {
        return cuda.streamSynchronize(stream);
    }

    /** As {@link #synchronize()}, and waits for the kernel of a slot. The end of one that was called off stays unknown. */
    int synchronize(int slot) {
        int copies = synchronize();
        if (copies != Cuda.SUCCESS || !byKernel[slot]) {
            return copies;
        }
        return behind ? Cuda.ERROR_NOT_READY : cuda.streamSynchronize(kernelStream);
    }

    /** As {@link #toGpu} and {@link #record} for a thread that streams wait for. A copy without an event is complete when this returns. */
    public int copyToGpu(int slot, long to, long from, long count) {
        int entered = push();
        return entered != Cuda.SUCCESS ? entered : started(slot, count, toGpu(to, from, count, true));
    }

    /** As {@link #copyToGpu}, in the other direction. */
    public int copyToHost(int slot, long to, long from, long count) {
        int entered = push();
        return entered != Cuda.SUCCESS ? entered : started(slot, count, toHost(to, from, count));
    }

    /** A failed copy may have moved a part, so it has an event, too. */
    private int started(int slot, long count, int result) {
        int recorded = record(slot, count);
        int complete = recorded == Cuda.SUCCESS ? recorded : synchronize();
        pop();
        return result != Cuda.SUCCESS ? result : complete;
    }

    /** Waits until a slot is free, first without pauses. */
    public int finish(int slot, long spinNanos) {
        if (!busy[slot]) {
            return Cuda.SUCCESS;
        }
        busy[slot] = false;
        int entered = push();
        if (entered != Cuda.SUCCESS) {
            return entered;
        }
        int result = EventWait.spin(cuda, events[slot], spinNanos);
        ended(slot);
        pop();
        return result;
    }

    /** Waits until a slot is free, with pauses. */
    int finish(int slot, long pollNanos, EventWait.Pause pause) {
        if (!busy[slot]) {
            return Cuda.SUCCESS;
        }
        int entered = push();
        if (entered != Cuda.SUCCESS) {
            busy[slot] = false;
            return entered;
        }
        int result = await(slot, pollNanos, pause);
        pop();
        return result;
    }
}
