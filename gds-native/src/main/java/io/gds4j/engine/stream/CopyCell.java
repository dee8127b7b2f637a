package io.gds4j.engine.stream;

import io.gds4j.ffi.NativeSegments;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/**
 * What a launch of {@link CopyKernel} reads, in pinned memory: filled by a processor before the stream may come to the launch. The
 * same stands in a cache line for each block: reads of one line over the bus would come one after the other.
 */
final class CopyCell {
    /** Blocks of a launch at most. */
    static final int LINES = 16;

    private static final long LINE_BYTES = 64;

    /** Bytes of a cell; it stands at a multiple of 64. */
    static final long BYTES = LINES * LINE_BYTES;

    private static final StructLayout LAYOUT = MemoryLayout.structLayout(
            ValueLayout.JAVA_LONG.withName("source"),
            ValueLayout.JAVA_LONG.withName("target"),
            ValueLayout.JAVA_LONG.withName("bytes"));
    private static final VarHandle SOURCE = of("source");
    private static final VarHandle TARGET = of("target");
    private static final VarHandle COUNT = of("bytes");

    private final MemorySegment memory;

    private CopyCell(MemorySegment memory) {
        this.memory = memory;
    }

    private static VarHandle of(String name) {
        return LAYOUT.varHandle(PathElement.groupElement(name));
    }

    /** The cell at an address, whose memory must stay. */
    static CopyCell at(long address) {
        return new CopyCell(NativeSegments.of(address, BYTES));
    }

    /** Address of the cell: the launch's argument. */
    long address() {
        return memory.address();
    }

    /**
     * Says what the launch that comes next copies.
     *
     * @param source pinned memory, or the GPU's
     * @param target pinned memory, or the GPU's
     * @param bytes 0 for nothing
     */
    void set(long source, long target, long bytes) {
        for (long line = 0; line < BYTES; line += LINE_BYTES) {
            SOURCE.set(memory, line, source);
            TARGET.set(memory, line, target);
            COUNT.setRelease(memory, line, bytes);
        }
    }

    /** The launch that comes next copies nothing. */
    void clear() {
        set(0, 0, 0);
    }
}
