package io.gds4j.loader;

import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryRange;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** Destination memory of one file, freed when its loader and all who took a tensor out of it have let go. */
final class Slab {
    private final MemoryRange memory;
    private final @Nullable MemoryAllocation allocation;
    private final long origin;
    private final AtomicInteger holders = new AtomicInteger(1);

    Slab(MemoryRange memory, @Nullable MemoryAllocation allocation, long origin) {
        this.memory = memory;
        this.allocation = allocation;
        this.origin = origin;
    }

    /** The bytes from {@code offset} behind the origin on. */
    MemoryRange range(long offset, long length) {
        return memory.slice(origin + offset, length);
    }

    MemoryRange memory() {
        return memory;
    }

    long origin() {
        return origin;
    }

    boolean isForeign() {
        return allocation == null;
    }

    /** Counts one holder in; only for one who knows another to be inside. */
    void hold() {
        holders.incrementAndGet();
    }

    /** Counts one holder out; the last one frees the memory, and stays if that is refused. */
    void letGo() {
        if (holders.decrementAndGet() == 0 && allocation != null) {
            boolean freed = false;
            try {
                allocation.close();
                freed = true;
            } finally {
                if (!freed) {
                    holders.incrementAndGet();
                }
            }
        }
    }
}
