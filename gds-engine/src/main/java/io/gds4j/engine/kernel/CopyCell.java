package io.gds4j.engine.kernel;

import io.gds4j.ffi.NativeSegments;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/**
 * The argument of a launch of {@link CopyKernel}, in pinned memory. A processor fills it before the stream may reach the launch. Blocks
 * find copies of it in several cache lines: reads of one line over the bus are serialised.
 */
public final class CopyCell {
    /** Copies of the argument, a power of two. A block reads the one of its number modulo this. */
    static final int LINES = 16;

    private static final long LINE_BYTES = 64;

    /** Bytes of a cell, whose address is a multiple of 64. */
    public static final long BYTES = LINES * LINE_BYTES;

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

    /** Returns the cell at an address, whose memory must stay. */
    public static CopyCell at(long address) {
        return new CopyCell(NativeSegments.of(address, BYTES));
    }

    /** Returns the address of the cell: the launch's argument. */
    public long address() {
        return memory.address();
    }

    /**
     * Sets what the next launch copies.
     *
     * @param source pinned memory, or the GPU's
     * @param target pinned memory, or the GPU's
     * @param bytes 0 for nothing
     */
    public void set(long source, long target, long bytes) {
        for (long line = 0; line < BYTES; line += LINE_BYTES) {
            SOURCE.set(memory, line, source);
            TARGET.set(memory, line, target);
            COUNT.setRelease(memory, line, bytes);
        }
    }

    /** Makes the next launch copy nothing. */
    public void clear() {
        set(0, 0, 0);
    }
}
