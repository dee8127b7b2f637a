package io.gds4j.ffi.cufile;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.concurrent.TimeUnit;

/** {@code struct timespec}. */
public final class Timespec {
    public static final StructLayout LAYOUT = MemoryLayout.structLayout(
            ValueLayout.JAVA_LONG.withName("tv_sec"), ValueLayout.JAVA_LONG.withName("tv_nsec"));

    private static final VarHandle SECONDS = LAYOUT.varHandle(PathElement.groupElement("tv_sec"));
    private static final VarHandle NANOS = LAYOUT.varHandle(PathElement.groupElement("tv_nsec"));
    private static final long NANOS_PER_SECOND = TimeUnit.SECONDS.toNanos(1);

    private Timespec() {
    }

    public static void write(MemorySegment buffer, long nanos) {
        SECONDS.set(buffer, 0L, nanos / NANOS_PER_SECOND);
        NANOS.set(buffer, 0L, nanos % NANOS_PER_SECOND);
    }
}
