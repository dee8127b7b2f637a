package io.gds4j.ffi.cuda;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/** {@code CUmemAllocationProp}: pinned memory of a device. */
final class MemAllocationProp {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
            ValueLayout.JAVA_INT.withName("type"),
            ValueLayout.JAVA_INT.withName("requestedHandleTypes"),
            MemLocation.LAYOUT.withName("location"),
            ValueLayout.JAVA_LONG.withName("win32HandleMetaData"),
            ValueLayout.JAVA_BYTE.withName("compressionType"),
            ValueLayout.JAVA_BYTE.withName("gpuDirectRDMACapable"),
            ValueLayout.JAVA_SHORT.withName("usage"),
            MemoryLayout.paddingLayout(4));

    private static final VarHandle TYPE = LAYOUT.varHandle(PathElement.groupElement("type"));
    private static final VarHandle RDMA = LAYOUT.varHandle(PathElement.groupElement("gpuDirectRDMACapable"));
    private static final long LOCATION = LAYOUT.byteOffset(PathElement.groupElement("location"));

    private static final int PINNED = 1;

    private MemAllocationProp() {
    }

    /** Overwrites {@code buffer}. */
    static void write(MemorySegment buffer, int device, boolean rdma) {
        buffer.asSlice(0, LAYOUT.byteSize()).fill((byte) 0);
        TYPE.set(buffer, 0L, PINNED);
        RDMA.set(buffer, 0L, (byte) (rdma ? 1 : 0));
        MemLocation.write(buffer, LOCATION, device);
    }
}
