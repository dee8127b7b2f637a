package io.gds4j.ffi.cuda;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;

/** {@code CUlaunchConfig} with one {@code CUlaunchAttribute} behind it: one row of blocks that may begin early. */
final class LaunchConfig {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
            ValueLayout.JAVA_INT.withName("gridDimX"),
            ValueLayout.JAVA_INT.withName("gridDimY"),
            ValueLayout.JAVA_INT.withName("gridDimZ"),
            ValueLayout.JAVA_INT.withName("blockDimX"),
            ValueLayout.JAVA_INT.withName("blockDimY"),
            ValueLayout.JAVA_INT.withName("blockDimZ"),
            ValueLayout.JAVA_INT.withName("sharedMemBytes"),
            MemoryLayout.paddingLayout(4),
            ValueLayout.JAVA_LONG.withName("hStream"),
            ValueLayout.JAVA_LONG.withName("attrs"),
            ValueLayout.JAVA_INT.withName("numAttrs"),
            MemoryLayout.paddingLayout(4),
            ValueLayout.JAVA_INT.withName("id"),
            MemoryLayout.paddingLayout(4),
            ValueLayout.JAVA_INT.withName("programmaticStreamSerializationAllowed"),
            MemoryLayout.paddingLayout(60));

    private static final int PROGRAMMATIC_STREAM_SERIALIZATION = 6;

    private LaunchConfig() {
    }

    private static long offset(String name) {
        return LAYOUT.byteOffset(PathElement.groupElement(name));
    }

    /** Fills {@code buffer}. */
    static void writeEarly(MemorySegment buffer, int blocks, int threadsPerBlock, long stream) {
        buffer.asSlice(0, LAYOUT.byteSize()).fill((byte) 0);
        buffer.set(ValueLayout.JAVA_INT, offset("gridDimX"), blocks);
        buffer.set(ValueLayout.JAVA_INT, offset("gridDimY"), 1);
        buffer.set(ValueLayout.JAVA_INT, offset("gridDimZ"), 1);
        buffer.set(ValueLayout.JAVA_INT, offset("blockDimX"), threadsPerBlock);
        buffer.set(ValueLayout.JAVA_INT, offset("blockDimY"), 1);
        buffer.set(ValueLayout.JAVA_INT, offset("blockDimZ"), 1);
        buffer.set(ValueLayout.JAVA_LONG, offset("hStream"), stream);
        buffer.set(ValueLayout.JAVA_LONG, offset("attrs"), buffer.address() + offset("id"));
        buffer.set(ValueLayout.JAVA_INT, offset("numAttrs"), 1);
        buffer.set(ValueLayout.JAVA_INT, offset("id"), PROGRAMMATIC_STREAM_SERIALIZATION);
        buffer.set(ValueLayout.JAVA_INT, offset("programmaticStreamSerializationAllowed"), 1);
    }
}
