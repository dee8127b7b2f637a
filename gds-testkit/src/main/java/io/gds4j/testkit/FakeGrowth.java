package io.gds4j.testkit;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.memory.MemoryAccess;
import io.gds4j.memory.GrowableMemory;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;

/** Memory of a fake GPU that grows in whole pages. */
final class FakeGrowth implements GrowableMemory {
    private static final String GROW = "GrowableMemory.grow";

    /** Bytes of a page; smaller than those of real GPUs, to suit small fakes. */
    private static final long PAGE = 1 << 16;

    private final MemoryAllocator allocator;
    private final FakeMemory memory;
    private final FakeSchedule schedule;
    private final FakeMemory.Region region;
    private final long maximum;
    private final int device;
    private MemoryAllocation allocation;
    private boolean closed;

    FakeGrowth(MemoryAllocator allocator, FakeMemory memory, FakeSchedule schedule, long maximum, int device) {
        this.allocator = allocator;
        this.memory = memory;
        this.schedule = schedule;
        this.maximum = maximum;
        this.device = device;
        this.region = memory.reserve(
                MemoryKind.CUDA_VMM, Math.min(PAGE, maximum), maximum, device, "MemoryAllocator.growable");
        this.allocation = lease();
    }

    /** Returns the memory as an allocation whose close frees nothing. */
    private MemoryAllocation lease() {
        FakeSchedule streams = schedule;
        long address = region.address();
        long length = region.length();
        return MemoryAccess.copiedBy(allocator, MemoryAllocation.of(
                MemoryRange.ofAddress(address, length, MemoryKind.CUDA_VMM, device),
                () -> streams.finishMemory(address, length)));
    }

    @Override
    public synchronized MemoryAllocation allocation() {
        return allocation;
    }

    @Override
    public long maximum() {
        return maximum;
    }

    @Override
    public synchronized MemoryAllocation grow(long bytes) {
        if (closed) {
            throw CuFileException.of(CuFileError.CUDA_POINTER_INVALID, GROW, "the memory is closed");
        }
        if (bytes <= region.length() || bytes > maximum) {
            throw CuFileException.invalid(GROW,
                    "size is %s, allowed is more than %s and up to %s".formatted(bytes, region.length(), maximum));
        }
        allocation.close();
        try {
            long whole = bytes > maximum - PAGE ? maximum : (bytes + PAGE - 1) / PAGE * PAGE;
            memory.grow(region, whole, GROW);
        } finally {
            allocation = lease();
        }
        return allocation;
    }

    @Override
    public synchronized void close() {
        if (!closed) {
            allocation.close();
            closed = true;
            memory.free(region);
        }
    }

    @Override
    public String toString() {
        return "GrowableMemory[%s of %s bytes]".formatted(allocation(), maximum);
    }
}
