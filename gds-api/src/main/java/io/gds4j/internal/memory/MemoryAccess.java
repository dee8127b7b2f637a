package io.gds4j.internal.memory;

import io.gds4j.internal.lifetime.MemoryUses;
import io.gds4j.memory.DmaBuf;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;

/** Where gds4j's own modules find what only they may do with memory. */
public final class MemoryAccess {
    public static final MemoryUses<MemoryRange, MemoryAllocation, DmaBuf> USES = uses();

    private MemoryAccess() {
    }

    /** Lets an allocation copy and fill itself by an allocator, and returns it. */
    public static MemoryAllocation copiedBy(MemoryAllocator allocator, MemoryAllocation allocation) {
        USES.copiedBy(allocation, new MemoryUses.Copies<>() {
            @Override
            public void copyToHost(MemoryRange from, MemorySegment to) {
                allocator.copyToHost(from, to);
            }

            @Override
            public void copyFromHost(MemorySegment from, MemoryRange to) {
                allocator.copyFromHost(from, to);
            }

            @Override
            public void fill(MemoryRange range, byte value) {
                allocator.fill(range, value);
            }
        });
        return allocation;
    }

    /** Returns what MemoryRange publishes while it is initialised. */
    @SuppressWarnings("unchecked")
    private static MemoryUses<MemoryRange, MemoryAllocation, DmaBuf> uses() {
        try {
            MethodHandles.lookup().ensureInitialized(MemoryRange.class);
        } catch (IllegalAccessException e) {
            throw new AssertionError("MemoryRange is public", e);
        }
        return (MemoryUses<MemoryRange, MemoryAllocation, DmaBuf>) MemoryUses.published();
    }
}
