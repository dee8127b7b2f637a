package io.gds4j.engine.kernel;

import io.gds4j.ffi.NativeSegments;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/**
 * Pinned memory with the copies that one launch of a {@link FragmentKernel} makes, between a slab and fragments of GPU memory. One thread
 * at a time fills it; a kernel may read it until the event behind its launch has passed.
 */
public final class FragmentTable {
    /** Largest number of copies: a slab of 16 MiB holds as many fragments of 32 KiB. */
    public static final int MAX_FRAGMENTS = 512;

    /** Bytes of a line: source, target and bytes of a copy. */
    static final int LINE_BYTES = 32;

    /** Offset of the first line. Before it is the word that says that the kernel has begun. */
    static final int LINES = 64;

    /** Bytes of a table, a multiple of 64. */
    public static final long BYTES = LINES + (long) MAX_FRAGMENTS * LINE_BYTES;

    private static final VarHandle BEGUN = ValueLayout.JAVA_INT.varHandle();

    private final MemorySegment memory;

    /** Bytes of each copy, which the kernel's lines lose when it is called off. */
    private final long[] bytes = new long[MAX_FRAGMENTS];

    private int count;
    private long largest;

    private FragmentTable(MemorySegment memory) {
        this.memory = memory;
    }

    /** Returns the table at an address, whose memory must stay. */
    public static FragmentTable at(long address) {
        return new FragmentTable(NativeSegments.of(address, BYTES));
    }

    long address() {
        return memory.address();
    }

    /** Takes all copies out. No kernel may read it. */
    public void clear() {
        BEGUN.setRelease(memory, 0L, 0);
        count = 0;
        largest = 0;
    }

    /** Adds a copy. There are fewer than {@link #MAX_FRAGMENTS}. */
    public void add(long source, long target, long length) {
        long line = line(count);
        memory.set(ValueLayout.JAVA_LONG, line, source);
        memory.set(ValueLayout.JAVA_LONG, line + Long.BYTES, target);
        memory.set(ValueLayout.JAVA_LONG, line + 2 * Long.BYTES, length);
        bytes[count++] = length;
        largest = Math.max(largest, length);
    }

    private static long line(int copy) {
        return LINES + (long) copy * LINE_BYTES;
    }

    /** Returns the number of copies. */
    public int count() {
        return count;
    }

    /** Returns the bytes of the largest copy. */
    public long largest() {
        return largest;
    }

    public long source(int copy) {
        return memory.get(ValueLayout.JAVA_LONG, line(copy));
    }

    public long target(int copy) {
        return memory.get(ValueLayout.JAVA_LONG, line(copy) + Long.BYTES);
    }

    public long bytes(int copy) {
        return bytes[copy];
    }

    /** Returns whether a block of the kernel has begun: then all will, and the kernel ends. */
    public boolean hasBegun() {
        return (int) BEGUN.getVolatile(memory, 0L) != 0;
    }

    /** Has blocks that begin from now on copy nothing. Returns false if one had begun before, which may have copied its part. */
    public boolean callOff() {
        for (int copy = 0; copy < count; copy++) {
            memory.set(ValueLayout.JAVA_LONG, line(copy) + 2 * Long.BYTES, 0);
        }
        // A block says that it has begun before it reads its line, with a fence in between, as here.
        VarHandle.fullFence();
        return !hasBegun();
    }
}
