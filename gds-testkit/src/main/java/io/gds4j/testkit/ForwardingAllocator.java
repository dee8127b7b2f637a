package io.gds4j.testkit;

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
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/** Forwards every call to another allocator; a base for allocators that change a few calls. */
abstract class ForwardingAllocator implements MemoryAllocator {
    private final MemoryAllocator delegate;

    ForwardingAllocator(MemoryAllocator delegate) {
        this.delegate = Objects.requireNonNull(delegate, "delegate");
    }

    @Override
    public MemoryAllocation allocate(MemoryKind kind, long size, int device) {
        return delegate.allocate(kind, size, device);
    }

    @Override
    public MemoryAllocation pin(MemorySegment segment) {
        return delegate.pin(segment);
    }

    @Override
    public GrowableMemory growable(long maximum, int device) {
        return delegate.growable(maximum, device);
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
    public void copyRows(MemoryRange from, long fromPitch, MemoryRange to, long toPitch, long width, long rows) {
        delegate.copyRows(from, fromPitch, to, toPitch, width, rows);
    }

    @Override
    public boolean converts(String from, String to) {
        return delegate.converts(from, to);
    }

    @Override
    public void convert(MemoryRange from, String fromType, MemoryRange to, String toType) {
        delegate.convert(from, fromType, to, toType);
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
    public void prepare(MemoryKind kind, int device) {
        delegate.prepare(kind, device);
    }

    @Override
    public void expect(MemoryKind kind, int device) {
        delegate.expect(kind, device);
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
    public void awaitStream(long stream) {
        delegate.awaitStream(stream);
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
