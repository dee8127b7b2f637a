package io.gds4j.testkit;

import io.gds4j.internal.memory.MemoryAccess;
import io.gds4j.memory.AllocationTag;
import io.gds4j.memory.DmaBuf;
import io.gds4j.memory.GrowableMemory;
import io.gds4j.memory.HostPages;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.MemoryUsage;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Allocates through another allocator, remembers where each allocation was made, and names those that nobody closed.
 *
 * <pre>{@code
 * LeakDetector memory = new LeakDetector(driver.allocator());
 * loadCheckpoint(driver, memory);
 * memory.verify();                  // fails, and shows who allocated what is left
 * }</pre>
 *
 * <p>
 * Thread-safe.
 *
 * @since 0.1
 */
public final class LeakDetector implements MemoryAllocator {
    /** Frames of an allocation's site that are shown. */
    private static final int FRAMES = 8;

    private final MemoryAllocator delegate;
    private final Map<Long, Site> alive = new ConcurrentHashMap<>();

    /** Where memory was allocated. */
    private record Site(MemoryRange range, StackTraceElement[] stack) {
        @Override
        public String toString() {
            StringBuilder text = new StringBuilder(
                    "%d bytes of %s at 0x%x, allocated".formatted(range.length(), range.kind(), range.address()));
            Arrays.stream(stack)
                    .filter(frame -> !(frame.getClassName() + '$').startsWith(LeakDetector.class.getName() + '$'))
                    .filter(frame -> !frame.getClassName().startsWith("java.lang.Thread"))
                    .limit(FRAMES)
                    .forEach(frame -> text.append("\n        at ").append(frame));
            return text.toString();
        }
    }

    /** Allocates through {@code delegate}. */
    public LeakDetector(MemoryAllocator delegate) {
        this.delegate = delegate;
    }

    /** What is allocated now, one text each that says how much, of what kind and where it was allocated. */
    public List<String> alive() {
        return alive.values().stream().map(Site::toString).toList();
    }

    /**
     * Checks that everything is closed.
     *
     * @throws AssertionError that shows what is not, and where it was allocated
     */
    public void verify() {
        List<String> left = new ArrayList<>(alive());
        if (!left.isEmpty()) {
            throw new AssertionError(
                    "%d allocations were not closed:\n    %s".formatted(left.size(), String.join("\n    ", left)));
        }
    }

    private MemoryAllocation watch(MemoryAllocation allocation) {
        alive.put(allocation.range().address(), site(allocation));
        MemoryAccess.beforeFree(allocation, alive::remove);
        return allocation;
    }

    private static Site site(MemoryAllocation allocation) {
        return new Site(bare(allocation), Thread.currentThread().getStackTrace());
    }

    /** Without the owner: whoever forgets it must not be kept from finding that out otherwise. */
    private static MemoryRange bare(MemoryAllocation allocation) {
        MemoryRange range = allocation.range();
        return MemoryRange.ofAddress(range.address(), range.length(), range.kind(), range.device());
    }

    @Override
    public MemoryAllocation allocate(MemoryKind kind, long size, int device) {
        return watch(delegate.allocate(kind, size, device));
    }

    @Override
    public MemoryAllocation pin(MemorySegment segment) {
        return watch(delegate.pin(segment));
    }

    @Override
    public GrowableMemory growable(long maximum, int device) {
        return new Growable(delegate.growable(maximum, device));
    }

    /** Alive from its making to its closing, whatever allocations it has between. */
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
            Site larger = new Site(bare(grown), site.stack());
            alive.replace(address, site, larger);
            site = larger;
            return grown;
        }

        @Override
        public synchronized void close() {
            // Before: once it is free, somebody else may get the address.
            boolean known = alive.remove(address, site);
            boolean closed = false;
            try {
                memory.close();
                closed = true;
            } finally {
                if (known && !closed) {
                    alive.put(address, site);
                }
            }
        }

        @Override
        public String toString() {
            return memory.toString();
        }
    }

    @Override
    public boolean supports(MemoryKind kind) {
        return delegate.supports(kind);
    }

    @Override
    public void copyToHost(MemoryRange from, MemorySegment to) {
        delegate.copyToHost(from, to);
    }

    @Override
    public void copyFromHost(MemorySegment from, MemoryRange to) {
        delegate.copyFromHost(from, to);
    }

    @Override
    public void copy(MemoryRange from, MemoryRange to) {
        delegate.copy(from, to);
    }

    @Override
    public void fill(MemoryRange range, byte value) {
        delegate.fill(range, value);
    }

    @Override
    public long available(MemoryKind kind, int device) {
        return delegate.available(kind, device);
    }

    @Override
    public Optional<AllocationTag> allocationOf(MemoryRange range) {
        return delegate.allocationOf(range);
    }

    @Override
    public boolean isCurrent(AllocationTag tag) {
        return delegate.isCurrent(tag);
    }

    @Override
    public Optional<HostPages> pages(MemoryAllocation allocation) {
        return delegate.pages(allocation);
    }

    @Override
    public MemoryRange wrap(long address, long length) {
        return delegate.wrap(address, length);
    }

    @Override
    public void prefetch(MemoryRange range, int device) {
        delegate.prefetch(range, device);
    }

    @Override
    public DmaBuf exportDmaBuf(MemoryRange range) {
        return delegate.exportDmaBuf(range);
    }

    @Override
    public boolean flushDeviceWrites(int device) {
        return delegate.flushDeviceWrites(device);
    }

    @Override
    public Map<MemoryKind, MemoryUsage> usage() {
        return delegate.usage();
    }
}
