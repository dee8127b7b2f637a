package io.gds4j.ffi.cuda;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/** {@code CUmemLocation}: a device or the host. */
final class MemLocation {
    static final StructLayout LAYOUT =
            MemoryLayout.structLayout(ValueLayout.JAVA_INT.withName("type"), ValueLayout.JAVA_INT.withName("id"));

    private static final VarHandle TYPE = LAYOUT.varHandle(PathElement.groupElement("type"));
    private static final VarHandle ID = LAYOUT.varHandle(PathElement.groupElement("id"));

    private static final int DEVICE = 1;
    private static final int HOST = 2;

    private MemLocation() {
    }

    /** Returns the structure as C passes it by value, two ints in one register. A {@code device} below 0 is the host. */
    static long packed(int device) {
        return device < 0 ? HOST : DEVICE | (long) device << Integer.SIZE;
    }

    /** Fills the structure at {@code offset} of {@code buffer}. */
    static void write(MemorySegment buffer, long offset, int device) {
        TYPE.set(buffer, offset, DEVICE);
        ID.set(buffer, offset, device);
    }
}
