package io.gds4j.engine.memory;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.lifetime.Lifetime;
import io.gds4j.memory.GrowableMemory;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.lang.ref.Reference;
import java.util.function.UnaryOperator;

/**
 * Mapped memory whose reservation is larger than its mapping. If the program forgets it, it is logged and freed once neither it nor
 * its current allocation is reachable.
 */
final class GrowableDeviceMemory implements GrowableMemory {
    private static final String GROW = "GrowableMemory.grow";

    private final Mapping mapping;
    private final int device;
    private final long maximum;
    private final UnaryOperator<MemoryAllocation> book;
    private MemoryAllocation allocation;
    private boolean closed;

    /** Reachable while the program has the growable memory or an allocation of it. */
    private static final class Mapping {
        final MappedDeviceMemory memory;
        final Lifetime lifetime;

        Mapping(MappedDeviceMemory memory, long maximum) {
            this.memory = memory;
            this.lifetime = Lifetime.of(this, "memory that grows to " + maximum + " bytes", memory::free);
        }
    }

    /**
     * @param memory memory of which a part is mapped
     * @param book counts an allocation
     */
    GrowableDeviceMemory(MappedDeviceMemory memory, int device, long maximum, UnaryOperator<MemoryAllocation> book) {
        this.mapping = new Mapping(memory, maximum);
        this.device = device;
        this.maximum = maximum;
        this.book = book;
        this.allocation = lease();
    }

    /** Returns the mapped memory as an allocation whose close frees nothing. */
    private MemoryAllocation lease() {
        Mapping kept = mapping;
        MemoryRange raw = MemoryRange.ofAddress(
                kept.memory.address(), Math.min(kept.memory.mapped(), maximum), MemoryKind.CUDA_VMM, device);
        // The next allocation takes over the memory.
        return book.apply(MemoryAllocation.of(raw, () -> Reference.reachabilityFence(kept)));
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
        if (bytes <= allocation.range().length() || bytes > maximum) {
            throw CuFileException.invalid(GROW,
                    "size is %s, allowed is more than %s and up to %s"
                            .formatted(bytes, allocation.range().length(), maximum));
        }
        allocation.close();
        try {
            mapping.memory.grow(bytes);
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
            mapping.lifetime.close(mapping, "GrowableMemory.close");
        }
    }

    @Override
    public String toString() {
        return "GrowableMemory[%s of %s bytes]".formatted(allocation(), maximum);
    }
}
