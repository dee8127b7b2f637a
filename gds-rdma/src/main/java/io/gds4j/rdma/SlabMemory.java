package io.gds4j.rdma;

import io.gds4j.internal.lifetime.Undo;
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
    private final MemoryRegion region;
    private @Nullable DmaBuf exported;

    SlabMemory(MemoryAllocator allocator, ProtectionDomain domain, MemoryKind kind, int device, int count,
            int slabBytes) {
        this.slabBytes = slabBytes;
        long size = (long) count * slabBytes;
        memory = kind.isCuda() ? allocator.allocate(kind, size, device) : allocator.allocate(kind, size);
        region = Undo.ifFails(this::release, () -> {
            MemoryRange used = memory.range().slice(0, size);
            if (!kind.isCuda()) {
                return domain.register(used, RIGHTS);
            }
            exported = allocator.exportDmaBuf(used);
            return domain.register(exported, RIGHTS);
        });
    }

    private void release() {
        try (memory) {
            if (exported != null) {
                exported.close();
            }
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
        try {
            region.close();
        } finally {
            release();
        }
    }
}
