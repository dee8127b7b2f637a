package io.gds4j.ffi.memory;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.GrowableMemory;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.util.function.UnaryOperator;

/** Mapped memory whose reservation is larger than what is mapped. */
final class GrowableDeviceMemory implements GrowableMemory {
    private static final String GROW = "GrowableMemory.grow";

    private final MappedDeviceMemory memory;
    private final int device;
    private final long maximum;
    private final UnaryOperator<MemoryAllocation> book;
    private MemoryAllocation allocation;
    private boolean closed;

    /**
     * @param memory with something mapped
     * @param book keeps the accounts
     */
    GrowableDeviceMemory(MappedDeviceMemory memory, int device, long maximum, UnaryOperator<MemoryAllocation> book) {
        this.memory = memory;
        this.device = device;
        this.maximum = maximum;
        this.book = book;
        this.allocation = lease();
    }

    /** The memory as it is; closing it frees nothing. */
    private MemoryAllocation lease() {
        MemoryRange raw = MemoryRange.ofAddress(
                memory.address(), Math.min(memory.mapped(), maximum), MemoryKind.CUDA_VMM, device);
        return book.apply(MemoryAllocation.of(raw, () -> {
            // the next one goes on with the memory
        }));
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
            throw CuFileException.of(
                    CuFileError.INVALID_VALUE,
                    GROW,
                    "size is %d, allowed is more than %d and up to %d"
                            .formatted(bytes, allocation.range().length(), maximum));
        }
        allocation.close();
        try {
            memory.grow(bytes);
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
            memory.free();
        }
    }

    @Override
    public String toString() {
        return "GrowableMemory[%s of %d bytes]".formatted(allocation(), maximum);
    }
}
