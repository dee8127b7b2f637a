package io.gds4j.ffi.cuda;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/** {@code CUDA_MEMCPY2D}: a copy of rows of bytes. */
final class Memcpy2D {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
            ValueLayout.JAVA_LONG.withName("srcXInBytes"),
            ValueLayout.JAVA_LONG.withName("srcY"),
            ValueLayout.JAVA_INT.withName("srcMemoryType"),
            MemoryLayout.paddingLayout(4),
            ValueLayout.JAVA_LONG.withName("srcHost"),
            ValueLayout.JAVA_LONG.withName("srcDevice"),
            ValueLayout.JAVA_LONG.withName("srcArray"),
            ValueLayout.JAVA_LONG.withName("srcPitch"),
            ValueLayout.JAVA_LONG.withName("dstXInBytes"),
            ValueLayout.JAVA_LONG.withName("dstY"),
            ValueLayout.JAVA_INT.withName("dstMemoryType"),
            MemoryLayout.paddingLayout(4),
            ValueLayout.JAVA_LONG.withName("dstHost"),
            ValueLayout.JAVA_LONG.withName("dstDevice"),
            ValueLayout.JAVA_LONG.withName("dstArray"),
            ValueLayout.JAVA_LONG.withName("dstPitch"),
            ValueLayout.JAVA_LONG.withName("WidthInBytes"),
            ValueLayout.JAVA_LONG.withName("Height"));

    private static final VarHandle FROM_TYPE = of("srcMemoryType");
    private static final VarHandle FROM_HOST = of("srcHost");
    private static final VarHandle FROM_DEVICE = of("srcDevice");
    private static final VarHandle FROM_PITCH = of("srcPitch");
    private static final VarHandle TO_TYPE = of("dstMemoryType");
    private static final VarHandle TO_HOST = of("dstHost");
    private static final VarHandle TO_DEVICE = of("dstDevice");
    private static final VarHandle TO_PITCH = of("dstPitch");
    private static final VarHandle WIDTH = of("WidthInBytes");
    private static final VarHandle HEIGHT = of("Height");

    private static final int HOST = 1;
    private static final int DEVICE = 2;

    private Memcpy2D() {
    }

    private static VarHandle of(String name) {
        return LAYOUT.varHandle(PathElement.groupElement(name));
    }

    /** Overwrites {@code buffer} with a copy of rows from the host to a device. */
    static void writeRowsToDevice(
            MemorySegment buffer, long device, long devicePitch, long host, long hostPitch, long width, long rows) {
        writeRows(buffer, hostPitch, devicePitch, width, rows);
        FROM_TYPE.set(buffer, 0L, HOST);
        FROM_HOST.set(buffer, 0L, host);
        TO_TYPE.set(buffer, 0L, DEVICE);
        TO_DEVICE.set(buffer, 0L, device);
    }

    /** Overwrites {@code buffer} with a copy of rows from a device to the host. */
    static void writeRowsToHost(
            MemorySegment buffer, long host, long hostPitch, long device, long devicePitch, long width, long rows) {
        writeRows(buffer, devicePitch, hostPitch, width, rows);
        FROM_TYPE.set(buffer, 0L, DEVICE);
        FROM_DEVICE.set(buffer, 0L, device);
        TO_TYPE.set(buffer, 0L, HOST);
        TO_HOST.set(buffer, 0L, host);
    }

    private static void writeRows(MemorySegment buffer, long fromPitch, long toPitch, long width, long rows) {
        buffer.asSlice(0, LAYOUT.byteSize()).fill((byte) 0);
        FROM_PITCH.set(buffer, 0L, fromPitch);
        TO_PITCH.set(buffer, 0L, toPitch);
        WIDTH.set(buffer, 0L, width);
        HEIGHT.set(buffer, 0L, rows);
    }
}
