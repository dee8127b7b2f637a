package io.gds4j.engine.staging;

import io.gds4j.engine.kernel.FragmentKernel;
import io.gds4j.engine.kernel.FragmentTable;
import io.gds4j.engine.machine.TransferCosts;
import io.gds4j.ffi.cuda.Cuda;
import org.jspecify.annotations.Nullable;

/**
 * The copies between a slab and fragments of one GPU's memory. One kernel makes them if there are several small ones, else a copy engine. A
 * kernel that does not begin, because the program's own kernels occupy the GPU, is called off, and a copy engine makes its copies. Used by
 * one thread.
 */
final class FragmentCopies {
    private final Cuda cuda;
    private final PreciseSleep sleep;
    private @Nullable CopyLane lane;
    private @Nullable FragmentKernel kernel;

    /** Null if a copy engine makes the copies as they come. */
    private @Nullable FragmentTable table;
    private int slot;
    private boolean toGpu;
    private boolean streamsWait;

    /** The first failure of copies whose callers have been told that they will be made: the slot fails. */
    private int failure;

    FragmentCopies(Cuda cuda, PreciseSleep sleep) {
        this.cuda = cuda;
        this.sleep = sleep;
    }

    /**
     * Begins the copies of a slot, whose earlier copies are complete. The context of the lane is current until {@link #end}.
     *
     * @param fragmentKernel null if a copy engine has to make the copies
     * @param waiting whether streams wait for this process: no kernel is launched then
     */
    void begin(CopyLane of, int ofSlot, boolean intoGpu, @Nullable FragmentKernel fragmentKernel, boolean waiting) {
        lane = of;
        slot = ofSlot;
        toGpu = intoGpu;
        streamsWait = waiting;
        failure = Cuda.SUCCESS;
        kernel = fragmentKernel;
        table = fragmentKernel == null || waiting || !isFree(of) ? null : of.table(ofSlot);
        if (table != null) {
            table.clear();
        }
    }

    /** Returns whether no kernel that was called off may still read the tables of a lane. */
    private boolean isFree(CopyLane of) {
        if (of.isBehind()) {
            of.setBehind(cuda.streamQuery(of.kernelStream()) != Cuda.SUCCESS);
        }
        return !of.isBehind();
    }

    private CopyLane lane() {
        CopyLane begun = lane;
        if (begun == null) {
            throw new IllegalStateException("no copies have begun");
        }
        return begun;
    }

    /** Has one part copied, now or at the {@link #end}, and returns a {@code CUresult}. */
    int add(long from, long to, long bytes) {
        FragmentTable known = table;
        if (known == null) {
            return copy(from, to, bytes);
        }
        if (known.count() == FragmentTable.MAX_FRAGMENTS) {
            int result = byEngine();
            return result == Cuda.SUCCESS ? copy(from, to, bytes) : result;
        }
        known.add(from, to, bytes);
        return Cuda.SUCCESS;
    }

    private int copy(long from, long to, long bytes) {
        return toGpu ? lane().toGpu(to, from, bytes, streamsWait) : lane().toHost(to, from, bytes);
    }

    /** Has a copy engine make the copies so far and those to come, of which a caller may make some itself. */
    int byEngine() {
        FragmentTable known = table;
        table = null;
        if (known != null) {
            failure = copyAll(known);
        }
        return failure;
    }

    private int copyAll(FragmentTable known) {
        int result = Cuda.SUCCESS;
        for (int i = 0; i < known.count() && result == Cuda.SUCCESS; i++) {
            result = copy(known.source(i), known.target(i), known.bytes(i));
        }
        return result;
    }

    /**
     * Starts what has not begun, and has the event of the slot pass when all copies are complete.
     *
     * @param bytes of the slot, which decide how long a wait for it sleeps
     * @param awaited whether the caller waits for the stream at once: copies by a copy engine have no event then
     * @return a {@code CUresult}
     */
    int end(long bytes, boolean awaited) {
        FragmentTable known = table;
        FragmentKernel launched = kernel;
        if (known != null && launched != null && isWorthKernel(known)
                && launched.launch(cuda, known, lane().kernelStream()) == Cuda.SUCCESS) {
            return lane().recordKernel(slot, bytes, toGpu);
        }
        int copied = byEngine(); // or an earlier call's failure
        int recorded = awaited ? Cuda.SUCCESS : lane().record(slot, bytes);
        return copied == Cuda.SUCCESS ? recorded : copied;
    }

    private static boolean isWorthKernel(FragmentTable known) {
        return known.count() >= TransferCosts.MIN_FRAGMENTS
                && known.largest() <= TransferCosts.MAX_FRAGMENTS;
    }

    /**
     * Waits for the kernel of a slot. The context of the lane is current.
     *
     * @return a {@code CUresult}
     */
    int await(CopyLane of, int ofSlot, long pause) {
        FragmentTable known = of.table(ofSlot);
        long begun = System.nanoTime();
        int result = of.query(ofSlot);
        while (result == Cuda.ERROR_NOT_READY && known != null) {
            boolean isLate = System.nanoTime() - begun >= TransferCosts.GATHER_PATIENCE_NANOS;
            if (isLate && !known.hasBegun()) {
                return rescue(of, ofSlot, known);
            }
            sleep.sleep(isLate ? TransferCosts.GATHER_LONG_PAUSE_NANOS : pause);
            result = of.query(ofSlot);
        }
        of.free(ofSlot);
        return result;
    }

    /** Calls the kernel off, and copies in its place. */
    private int rescue(CopyLane of, int ofSlot, FragmentTable known) {
        if (known.callOff()) {
            of.setBehind(true);
        } else {
            // A block came meanwhile, so the kernel ends; which blocks have copied is not known.
            int result = of.query(ofSlot);
            while (result == Cuda.ERROR_NOT_READY) {
                sleep.sleep(TransferCosts.GATHER_LONG_PAUSE_NANOS);
                result = of.query(ofSlot);
            }
            if (result != Cuda.SUCCESS) {
                of.free(ofSlot);
                return result;
            }
        }
        of.free(ofSlot);
        lane = of;
        streamsWait = true; // perhaps; a copy engine makes small copies then, too
        toGpu = of.isToGpu(ofSlot);
        int copied = copyAll(known);
        int complete = of.synchronize();
        return copied == Cuda.SUCCESS ? complete : copied;
    }
}
