package io.gds4j.ffi;

import io.gds4j.internal.lifetime.NativeThreadState;
import io.gds4j.internal.lifetime.ThreadState;
import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.VarHandle;

/**
 * What one thread needs for its native calls, made at the first and used by all later ones: the errno of its last call, and room for
 * the out-parameters of one. A shared errno buffer would mix up the threads' failures; one per call would cost an
 * allocation.
 */
public final class CallState extends NativeThreadState {
    /** The option of a downcall whose first argument is {@link #errnoSlot()}. */
    public static final Linker.Option CAPTURE_ERRNO = Linker.Option.captureCallState("errno");

    /** Bytes of {@link #scratch()}. */
    public static final long SCRATCH_BYTES = 512;

    private static final StructLayout CAPTURED = Linker.Option.captureStateLayout();
    private static final VarHandle ERRNO = CAPTURED.varHandle(MemoryLayout.PathElement.groupElement("errno"));

    private final MemorySegment errnoSlot;
    private final MemorySegment scratch;
    private final long[] answer = new long[1];

    private CallState() {
        // Reachable from the thread alone, hence freed some time after it.
        Arena arena = Arena.ofAuto();
        errnoSlot = arena.allocate(CAPTURED);
        scratch = arena.allocate(SCRATCH_BYTES, 64);
    }

    /** That of the calling thread; not to be handed to another. */
    public static CallState current() {
        ThreadState here = ThreadState.current();
        return here.nativeState() instanceof CallState known ? known : attachTo(here);
    }

    private static CallState attachTo(ThreadState here) {
        CallState made = new CallState();
        here.setNativeState(made);
        return made;
    }

    /** Where a downcall leaves errno. */
    public MemorySegment errnoSlot() {
        return errnoSlot;
    }

    /** errno of the last downcall that captured it; only meaningful if that call failed. */
    public int errno() {
        return (int) ERRNO.get(errnoSlot, 0L);
    }

    /** {@code result}, or {@code -errno} where it is negative. */
    public long resultOrErrno(long result) {
        return result < 0 ? -errno() : result;
    }

    /** {@code result}, or {@code -errno} where it is negative. */
    public int resultOrErrno(int result) {
        return result < 0 ? -errno() : result;
    }

    /** Room for a number that a call answers, which is read before the next call. */
    public long[] answer() {
        return answer;
    }

    /** Room for out-parameters, 64-byte aligned; content is that of earlier calls. */
    public MemorySegment scratch() {
        return scratch;
    }
}
