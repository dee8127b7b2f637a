package io.gds4j.ffi.cuda;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;

/** {@code CUDA_MEMCPY3D_PEER}: a copy of rows of bytes between two contexts. */
final class Memcpy3DPeer {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
            ValueLayout.JAVA_LONG.withName("srcXInBytes"),
            ValueLayout.JAVA_LONG.withName("srcY"),
            ValueLayout.JAVA_LONG.withName("srcZ"),
            ValueLayout.JAVA_LONG.withName("srcLOD"),
            ValueLayout.JAVA_INT.withName("srcMemoryType"),
            MemoryLayout.paddingLayout(4),
            ValueLayout.JAVA_LONG.withName("srcHost"),
            ValueLayout.JAVA_LONG.withName("srcDevice"),
            ValueLayout.JAVA_LONG.withName("srcArray"),
            ValueLayout.JAVA_LONG.withName("srcContext"),
            ValueLayout.JAVA_LONG.withName("srcPitch"),
            ValueLayout.JAVA_LONG.withName("srcHeight"),
            ValueLayout.JAVA_LONG.withName("dstXInBytes"),
            ValueLayout.JAVA_LONG.withName("dstY"),
            ValueLayout.JAVA_LONG.withName("dstZ"),
            ValueLayout.JAVA_LONG.withName("dstLOD"),
            ValueLayout.JAVA_INT.withName("dstMemoryType"),
            MemoryLayout.paddingLayout(4),
            ValueLayout.JAVA_LONG.withName("dstHost"),
            ValueLayout.JAVA_LONG.withName("dstDevice"),
            ValueLayout.JAVA_LONG.withName("dstArray"),
            ValueLayout.JAVA_LONG.withName("dstContext"),
            ValueLayout.JAVA_LONG.withName("dstPitch"),
            ValueLayout.JAVA_LONG.withName("dstHeight"),
            ValueLayout.JAVA_LONG.withName("WidthInBytes"),
            ValueLayout.JAVA_LONG.withName("Height"),
            ValueLayout.JAVA_LONG.withName("Depth"));

    private static final int DEVICE = 2;

    /** Where the fields of both sides begin; the others are offsets from there. */
    private static final long SOURCE = offset("srcXInBytes");
    private static final long TARGET = offset("dstXInBytes");
    private static final long MEMORY_TYPE = offset("srcMemoryType") - SOURCE;
    private static final long ADDRESS = offset("srcDevice") - SOURCE;
    private static final long CONTEXT = offset("srcContext") - SOURCE;
    private static final long PITCH = offset("srcPitch") - SOURCE;
    private static final long HEIGHT = offset("srcHeight") - SOURCE;
    private static final long WIDTH = offset("WidthInBytes");
    private static final long ROWS = offset("Height");
    private static final long DEPTH = offset("Depth");

    private Memcpy3DPeer() {
    }

    private static long offset(String name) {
        return LAYOUT.byteOffset(PathElement.groupElement(name));
    }

    /** Overwrites {@code buffer} with a copy of rows between devices. */
    static void write(
            MemorySegment buffer, long to, long toContext, long toPitch, long from, long fromContext, long fromPitch,
            long width, long rows) {
        buffer.asSlice(0, LAYOUT.byteSize()).fill((byte) 0);
        side(buffer, SOURCE, from, fromContext, fromPitch, rows);
        side(buffer, TARGET, to, toContext, toPitch, rows);
        buffer.set(ValueLayout.JAVA_LONG, WIDTH, width);
        buffer.set(ValueLayout.JAVA_LONG, ROWS, rows);
        buffer.set(ValueLayout.JAVA_LONG, DEPTH, 1);
    }

    private static void side(MemorySegment buffer, long at, long device, long context, long pitch, long rows) {
        buffer.set(ValueLayout.JAVA_INT, at + MEMORY_TYPE, DEVICE);
        buffer.set(ValueLayout.JAVA_LONG, at + ADDRESS, device);
        buffer.set(ValueLayout.JAVA_LONG, at + CONTEXT, context);
        buffer.set(ValueLayout.JAVA_LONG, at + PITCH, pitch);
        buffer.set(ValueLayout.JAVA_LONG, at + HEIGHT, rows);
    }
}
