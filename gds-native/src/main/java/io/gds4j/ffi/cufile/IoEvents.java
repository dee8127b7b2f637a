package io.gds4j.ffi.cufile;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/** {@code CUfileIOEvents_t}: the end of one entry of a batch. */
public final class IoEvents {
    public static final StructLayout LAYOUT = MemoryLayout.structLayout(
            ValueLayout.JAVA_LONG.withName("cookie"),
            ValueLayout.JAVA_INT.withName("status"),
            MemoryLayout.paddingLayout(4),
            ValueLayout.JAVA_LONG.withName("ret"));

    private static final VarHandle COOKIE = field("cookie");
    private static final VarHandle STATUS = field("status");
    private static final VarHandle RESULT = field("ret");

    private IoEvents() {
    }

    public static long cookie(MemorySegment array, int index) {
        return (long) COOKIE.get(array, index * LAYOUT.byteSize());
    }

    /** A bit of {@code CUfileStatus_t}. */
    public static int status(MemorySegment array, int index) {
        return (int) STATUS.get(array, index * LAYOUT.byteSize());
    }

    /** Bytes; a {@code size_t} that also carries negative errors. */
    public static long result(MemorySegment array, int index) {
        return (long) RESULT.get(array, index * LAYOUT.byteSize());
    }

    private static VarHandle field(String name) {
        return LAYOUT.varHandle(PathElement.groupElement(name));
    }
}
