package io.gds4j.ffi;

import io.gds4j.internal.lifetime.ThreadState;
import io.gds4j.internal.lifetime.ThreadState.NativeState;
import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.VarHandle;

/**
 * Native memory of one thread for its calls: the errno of the last call and room for out-parameters. The first call makes it, later
 * calls reuse it. A buffer shared by threads would mix up their errors; a buffer per call would cost an allocation.
 */
public final class CallState extends NativeState {
    /** The option of a downcall whose first argument is {@link #errnoSlot()}. */
    public static final Linker.Option CAPTURE_ERRNO = Linker.Option.captureCallState("errno");

    /** Bytes of {@link #scratch()}. */
    public static final long SCRATCH_BYTES = 512;

    private static final int MODE_BITS = 2;

    private static final StructLayout CAPTURED = Linker.Option.captureStateLayout();
    private static final VarHandle ERRNO = CAPTURED.varHandle(MemoryLayout.PathElement.groupElement("errno"));

    private final MemorySegment errnoSlot;
    private final MemorySegment scratch;
    private final long[] answer = new long[1];

    /** Small numbers of calls that nest, the last one in the lowest bits. */
    private long modes;

    private CallState() {
        // Only the thread refers to it, so that it is freed some time after the thread ends.
        Arena arena = Arena.ofAuto();
        errnoSlot = arena.allocate(CAPTURED);
        scratch = arena.allocate(SCRATCH_BYTES, 64);
    }

    /** Returns the state of the calling thread; no other thread may use it. */
    public static CallState current() {
        ThreadState here = ThreadState.current();
        return here.nativeState() instanceof CallState known ? known : attachTo(here);
    }

    private static CallState attachTo(ThreadState here) {
        CallState made = new CallState();
        here.setNativeState(made);
        return made;
    }

    /** Returns the slot in which a downcall captures errno. */
    public MemorySegment errnoSlot() {
        return errnoSlot;
    }

    /** Returns errno of the last downcall that captured it; only meaningful if that call failed. */
    public int errno() {
        return (int) ERRNO.get(errnoSlot, 0L);
    }

    /** Returns {@code result}, or {@code -errno} if it is negative. */
    public long resultOrErrno(long result) {
        return result < 0 ? -errno() : result;
    }

    /** Returns {@code result}, or {@code -errno} if it is negative. */
    public int resultOrErrno(int result) {
        return result < 0 ? -errno() : result;
    }

    /** Returns room for a number that a call returns; read it before the next call. */
    public long[] answer() {
        return answer;
    }

    /**
     * Keeps a mode that a call replaced until {@link #popMode}.
     *
     * @param mode 0 to 3
     */
    public void pushMode(int mode) {
        modes = modes << MODE_BITS | mode;
    }

    /** Returns and drops the mode that was kept last. */
    public int popMode() {
        int mode = (int) (modes & (1 << MODE_BITS) - 1);
        modes >>>= MODE_BITS;
        return mode;
    }

    /** Returns room for out-parameters, 64-byte aligned; it holds the content of earlier calls. */
    public MemorySegment scratch() {
        return scratch;
    }
}
