package io.gds4j.rdma;

import io.gds4j.memory.DmaBuf;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.util.EnumSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Slabs of one registered allocation: host memory by its address, GPU memory as a dma-buf. */
final class SlabMemory implements AutoCloseable {
    private static final Set<RdmaAccess> RIGHTS = EnumSet.of(RdmaAccess.LOCAL_WRITE);

    private final int slabBytes;
    private final MemoryAllocation memory;
    private final @Nullable DmaBuf exported;
    private final MemoryRegion region;

    SlabMemory(MemoryAllocator allocator, ProtectionDomain domain, MemoryKind kind, int device, int count,
            int slabBytes) {
        this.slabBytes = slabBytes;
        long size = (long) count * slabBytes;
        memory = kind.isCuda() ? allocator.allocate(kind, size, device) : allocator.allocate(kind, size);
        DmaBuf buffer = null;
        boolean made = false;
        try {
            buffer = kind.isCuda() ? allocator.exportDmaBuf(memory.range().slice(0, size)) : null;
            region = buffer == null
                    ? domain.register(memory.range().slice(0, size), RIGHTS)
                    : domain.register(buffer, RIGHTS);
            made = true;
        } finally {
            if (!made) {
                release(buffer);
            }
        }
        exported = buffer;
    }

    private void release(@Nullable DmaBuf buffer) {
        try {
            if (buffer != null) {
                buffer.close();
            }
        } finally {
            memory.close();
        }
    }

    MemoryRange range(int slab, long length) {
        return memory.range().slice((long) slab * slabBytes, length);
    }

    RegionSlice part(int slab, int length) {
        return region.slice((long) slab * slabBytes, length);
    }

    RegionSlice whole(int slab) {
        return part(slab, slabBytes);
    }

    /** The key dies before the memory goes. */
    @Override
    public void close() {
        region.close();
        release(exported);
    }
}
