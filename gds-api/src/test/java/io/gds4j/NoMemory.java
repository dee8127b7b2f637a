package io.gds4j;

import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.MemorySegment;

/** An allocator that does what a test adds, and nothing else. */
public interface NoMemory extends MemoryAllocator {
    @Override
    default boolean supports(MemoryKind kind) {
        throw new UnsupportedOperationException();
    }

    @Override
    default MemoryAllocation allocate(MemoryKind kind, long size, int device) {
        throw new UnsupportedOperationException();
    }

    @Override
    default void copyToHost(MemoryRange from, MemorySegment to) {
        throw new UnsupportedOperationException();
    }

    @Override
    default void copyFromHost(MemorySegment from, MemoryRange to) {
        throw new UnsupportedOperationException();
    }

    @Override
    default void copy(MemoryRange from, MemoryRange to) {
        throw new UnsupportedOperationException();
    }

    @Override
    default void fill(MemoryRange range, byte value) {
        throw new UnsupportedOperationException();
    }

    @Override
    default long available(MemoryKind kind, int device) {
        throw new UnsupportedOperationException();
    }
}
