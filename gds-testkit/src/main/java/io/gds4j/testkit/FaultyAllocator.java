package io.gds4j.testkit;

import io.gds4j.memory.GrowableMemory;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import java.lang.foreign.MemorySegment;
import java.util.Optional;

/** Allocates through another allocator unless a planned fault refuses. */
final class FaultyAllocator extends ForwardingAllocator {
    private final FaultPlan plan;

    FaultyAllocator(MemoryAllocator delegate, FaultPlan plan) {
        super(delegate);
        this.plan = plan;
    }

    @Override
    public MemoryAllocation allocate(MemoryKind kind, long size, int device) {
        plan.pass(Call.ALLOCATE, Call.ALLOCATE.function(), Optional.empty(), -1, size);
        return super.allocate(kind, size, device);
    }

    @Override
    public MemoryAllocation pin(MemorySegment segment) {
        plan.pass(Call.ALLOCATE, "MemoryAllocator.pin", Optional.empty(), -1, segment.byteSize());
        return super.pin(segment);
    }

    @Override
    public GrowableMemory growable(long maximum, int device) {
        plan.pass(Call.ALLOCATE, "MemoryAllocator.growable", Optional.empty(), -1, maximum);
        return new FaultyGrowth(super.growable(maximum, device), plan);
    }

    /** Memory that grows unless a planned fault refuses. */
    private record FaultyGrowth(GrowableMemory memory, FaultPlan plan) implements GrowableMemory {
        @Override
        public MemoryAllocation allocation() {
            return memory.allocation();
        }

        @Override
        public long maximum() {
            return memory.maximum();
        }

        @Override
        public MemoryAllocation grow(long bytes) {
            plan.pass(Call.ALLOCATE, "GrowableMemory.grow", Optional.empty(), -1, bytes);
            return memory.grow(bytes);
        }

        @Override
        public void close() {
            memory.close();
        }

        @Override
        public String toString() {
            return memory.toString();
        }
    }
}
