package io.gds4j.engine.memory;

import io.gds4j.internal.memory.MemoryAccess;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryUsage;
import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;

/** Counts allocated memory by kind. */
final class MemoryAccounts {
    private static final MemoryUsage NOTHING = new MemoryUsage(0, 0, 0, 0);

    private final Map<MemoryKind, MemoryUsage> byKind = new EnumMap<>(MemoryKind.class);

    /** Counts an allocation until it is freed. */
    MemoryAllocation book(MemoryAllocation allocation) {
        MemoryKind kind = allocation.range().kind();
        long bytes = allocation.range().length();
        add(kind, bytes);
        MemoryAccess.USES.beforeFree(allocation, base -> add(kind, -bytes));
        return allocation;
    }

    private synchronized void add(MemoryKind kind, long bytes) {
        MemoryUsage now = byKind.getOrDefault(kind, NOTHING);
        long held = now.bytes() + bytes;
        byKind.put(kind, new MemoryUsage(
                now.allocations() + (bytes < 0 ? -1 : 1),
                held,
                Math.max(held, now.peakBytes()),
                now.allBytes() + Math.max(0, bytes)));
    }

    synchronized Map<MemoryKind, MemoryUsage> usage() {
        return Collections.unmodifiableMap(new EnumMap<>(byKind));
    }
}
