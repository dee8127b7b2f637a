package io.gds4j.ffi.cuda;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/** {@code CUmemLocation}: a device. */
final class MemLocation {
    static final StructLayout LAYOUT =
            MemoryLayout.structLayout(ValueLayout.JAVA_INT.withName("type"), ValueLayout.JAVA_INT.withName("id"));

    private static final VarHandle TYPE = LAYOUT.varHandle(PathElement.groupElement("type"));
    private static final VarHandle ID = LAYOUT.varHandle(PathElement.groupElement("id"));

    private static final int DEVICE = 1;

    private MemLocation() {
    }

    /** Fills the structure at {@code offset} of {@code buffer}. */
    static void write(MemorySegment buffer, long offset, int device) {
        TYPE.set(buffer, offset, DEVICE);
        ID.set(buffer, offset, device);
    }
}
