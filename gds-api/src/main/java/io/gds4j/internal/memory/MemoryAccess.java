package io.gds4j.internal.memory;

import io.gds4j.internal.lifetime.MemoryUses;
import io.gds4j.memory.DmaBuf;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryRange;
import java.lang.invoke.MethodHandles;

/** Where gds4j's own modules find what only they may do with memory. */
public final class MemoryAccess {
    public static final MemoryUses<MemoryRange, MemoryAllocation, DmaBuf> USES = uses();

    private MemoryAccess() {
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
