package io.gds4j.ffi.cufile;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gds4j.ffi.CallState;
import io.gds4j.ffi.Linkage;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * When the kernel last looked at its clock, which it does 100 to 1000 times a second ({@code CLOCK_MONOTONIC_COARSE}). To read that
 * is to read memory, without the clock itself: between short reads it takes half of what {@link System#nanoTime} does there.
 */
final class KernelTick {
    /** No tick of the kernel's. */
    static final long NONE = -1;

    private static final int CLOCK_MONOTONIC_COARSE = 6;
    private static final long NANOS = 1_000_000_000;
    private static final MethodHandle CLOCK_GETTIME =
            Linkage.ofLibc()
                    .function(
                            "clock_gettime",
                            FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS),
                            // It never waits.
                            Linker.Option.critical(false));

    private KernelTick() {
    }

    /** {@return nanoseconds, the same from one tick to the next; {@link #NONE} if the kernel does not tell} */
    static long now() {
        MemorySegment time = CallState.current().scratch();
        int result;
        try {
            result = (int) CLOCK_GETTIME.invokeExact(CLOCK_MONOTONIC_COARSE, time);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
        return result == 0 ? time.get(JAVA_LONG, 0) * NANOS + time.get(JAVA_LONG, Long.BYTES) : NONE;
    }
}
