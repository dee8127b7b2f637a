package io.gds4j.ffi.cufile;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/** {@code CUfileIOVec_t} of cuFile 1.19: one range of memory. */
public final class IoVec {
    public static final StructLayout LAYOUT =
            MemoryLayout.structLayout(ValueLayout.JAVA_LONG.withName("base"), ValueLayout.JAVA_LONG.withName("len"));

    private static final VarHandle BASE = LAYOUT.varHandle(PathElement.groupElement("base"));
    private static final VarHandle LENGTH = LAYOUT.varHandle(PathElement.groupElement("len"));

    private IoVec() {
    }

    /** Fills element {@code index} of an array. */
    public static void write(MemorySegment array, int index, long base, long length) {
        long at = index * LAYOUT.byteSize();
        BASE.set(array, at, base);
        LENGTH.set(array, at, length);
    }
}
