package io.gds4j.ffi.cuda;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/** {@code CUmemAccessDesc}: a device may read and write. */
final class MemAccessDesc {
    static final StructLayout LAYOUT =
            MemoryLayout.structLayout(MemLocation.LAYOUT.withName("location"), ValueLayout.JAVA_INT.withName("flags"));

    private static final VarHandle FLAGS = LAYOUT.varHandle(PathElement.groupElement("flags"));
    private static final int READ_WRITE = 3;

    private MemAccessDesc() {
    }

    /** Fills {@code buffer}. */
    static void write(MemorySegment buffer, int device) {
        MemLocation.write(buffer, 0, device);
        FLAGS.set(buffer, 0L, READ_WRITE);
    }
}
