package io.gds4j.loader.internal.load;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.memory.MemoryAccess;
import io.gds4j.loader.internal.load.Layout.BlockSpec;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryRange;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * One block of destination memory, usually for all tensors of a file or of several small ones. Counts its holders: the load, then the
 * {@code LoadedTensors}, and each tensor that was taken. The last holder frees the memory. Thread-safe.
 */
public final class DestinationBlock {
    private final MemoryRange memory;
    private final @Nullable MemoryAllocation allocation;
    private final long origin;
    private final AtomicInteger holders = new AtomicInteger(1);

    /**
     * Creates a block with one holder.
     *
     * @param allocation owner of the memory, or null for memory of the caller
     * @param origin byte within {@code memory} from which tensor offsets count
     */
    private DestinationBlock(MemoryRange memory, @Nullable MemoryAllocation allocation, long origin) {
        this.memory = memory;
        this.allocation = allocation;
        this.origin = origin;
    }

    /** Allocates the memory of a block, or takes the caller's. */
    static DestinationBlock of(BlockSpec spec, MemoryAllocator allocator) {
        MemoryRange caller = spec.callerMemory();
        MemoryAllocation own = caller == null ? allocator.allocate(spec.kind(), spec.bytes(), spec.device()) : null;
        MemoryRange memory = own == null ? Objects.requireNonNull(caller) : own.range();
        return new DestinationBlock(memory, own, spec.originOffset(memory.address()));
    }

    /** Takes memory that exists; offsets count from its first byte. */
    static DestinationBlock of(MemoryAllocation own) {
        return new DestinationBlock(own.range(), own, 0);
    }

    /** Refuses memory that only its own thread can access: other threads load into it. */
    public static void checkAccess(MemoryRange destination) {
        boolean confined = destination.segment().filter(segment -> !segment.isAccessibleBy(new Thread())).isPresent();
        if (confined) {
            throw CuFileException.of(
                    CuFileError.CUDA_POINTER_INVALID,
                    "LoadPlan",
                    "the destination belongs to a confined arena, but threads of the loader write to it;"
                            + " use a shared or automatic arena");
        }
    }

    /** Returns {@code length} bytes that begin {@code offset} bytes after the origin. */
    public MemoryRange range(long offset, long length) {
        return memory.slice(origin + offset, length);
    }

    /** Refuses what {@link #release} would refuse because the memory is lent or registered. */
    public void checkUnclaimed() {
        if (allocation != null && holders.get() == 1) {
            MemoryAccess.USES.lifetimeOf(allocation).checkUnclaimed("LoadedTensors.close");
        }
    }

    public MemoryRange memory() {
        return memory;
    }

    long origin() {
        return origin;
    }

    /** Returns true for memory of the caller, which the loader never frees. */
    public boolean isCallerOwned() {
        return allocation == null;
    }

    /** Adds a holder. The caller must know that another holder exists. */
    public void hold() {
        holders.incrementAndGet();
    }

    /** Removes a holder; the last one frees the memory. If freeing is refused, the holder stays. */
    public void release() {
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
