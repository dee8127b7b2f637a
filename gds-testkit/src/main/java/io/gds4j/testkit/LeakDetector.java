package io.gds4j.testkit;

import io.gds4j.internal.lifetime.Undo;
import io.gds4j.internal.memory.MemoryAccess;
import io.gds4j.memory.GrowableMemory;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Allocates through another allocator, records the site of each allocation, and reports allocations that are still
 * open.
 *
 * <pre>{@code
 * LeakDetector memory = new LeakDetector(driver.allocator());
 * loadCheckpoint(driver, memory);
 * memory.verify();                  // fails, and shows where open allocations were made
 * }</pre>
 *
 * <p>
 * Thread-safe.
 *
 * @since 0.1
 */
public final class LeakDetector extends ForwardingAllocator {
    private final Map<Long, Site> alive = new ConcurrentHashMap<>();

    /** Site of an allocation. */
    private record Site(MemoryRange range, CallSite place) {
        @Override
        public String toString() {
            return place.describe(
                    "%s bytes of %s at 0x%x, allocated".formatted(range.length(), range.kind(), range.address()));
        }
    }

    /** Creates a detector that allocates through {@code delegate}. */
    public LeakDetector(MemoryAllocator delegate) {
        super(delegate);
    }

    /** Describes each open allocation: its size, kind and site. */
    public List<String> alive() {
        return alive.values().stream().map(Site::toString).toList();
    }

    /**
     * Checks that all allocations are closed.
     *
     * @throws AssertionError with the open allocations and their sites
     */
    public void verify() {
        List<String> left = new ArrayList<>(alive());
        if (!left.isEmpty()) {
            throw new AssertionError(
                    "%s allocations were not closed:\n    %s".formatted(left.size(), String.join("\n    ", left)));
        }
    }

    private MemoryAllocation watch(MemoryAllocation allocation) {
        alive.put(allocation.range().address(), site(allocation));
        MemoryAccess.USES.beforeFree(allocation, alive::remove);
        return allocation;
    }

    private static Site site(MemoryAllocation allocation) {
        return new Site(bare(allocation), new CallSite());
    }

    /** Does not refer to the owner, so that a forgotten owner can still be collected and reported. */
    private static MemoryRange bare(MemoryAllocation allocation) {
        MemoryRange range = allocation.range();
        return MemoryRange.ofAddress(range.address(), range.length(), range.kind(), range.device());
    }

    @Override
    public MemoryAllocation allocate(MemoryKind kind, long size, int device) {
        return watch(super.allocate(kind, size, device));
    }

    @Override
    public MemoryAllocation pin(MemorySegment segment) {
        return watch(super.pin(segment));
    }

    @Override
    public GrowableMemory growable(long maximum, int device) {
        return new Growable(super.growable(maximum, device));
    }

    /** Counts as one allocation from creation to close, regardless of the allocations between. */
    private final class Growable implements GrowableMemory {
        private final GrowableMemory memory;
        private final long address;
        private Site site;

        Growable(GrowableMemory memory) {
            this.memory = memory;
            this.address = memory.allocation().range().address();
            this.site = site(memory.allocation());
            alive.put(address, site);
        }

        @Override
        public MemoryAllocation allocation() {
            return memory.allocation();
        }

        @Override
        public long maximum() {
            return memory.maximum();
        }

        @Override
        public synchronized MemoryAllocation grow(long bytes) {
            MemoryAllocation grown = memory.grow(bytes);
            Site larger = new Site(bare(grown), site.place());
            alive.replace(address, site, larger);
            site = larger;
            return grown;
        }

        @Override
        public synchronized void close() {
            // Remove it before the close: once the memory is free, another allocation may get its address.
            boolean known = alive.remove(address, site);
            Undo.ifFails(() -> {
                if (known) {
                    alive.put(address, site);
                }
            }, memory::close);
        }

        @Override
        public String toString() {
            return memory.toString();
        }
    }
}
