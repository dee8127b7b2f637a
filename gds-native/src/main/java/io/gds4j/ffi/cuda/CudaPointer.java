package io.gds4j.ffi.cuda;

import io.gds4j.memory.MemoryKind;

/**
 * The driver's knowledge of an address.
 *
 * @param address the address
 * @param type where the memory lives
 * @param device ordinal of the GPU that it was allocated or registered for; −1 for memory unknown to the driver
 * @param context context that it belongs to; 0 for none, as with pools and mapped memory, or unknown
 * @param rangeStart first byte of the allocation, 0 if not known
 * @param rangeSize bytes of the allocation, 0 if not known
 * @param bufferId number of the allocation, unique over the process; 0 if it has none
 * @param pool pool that it came from; 0 for none or not known
 */
public record CudaPointer(
        long address,
        Type type,
        int device,
        long context,
        long rangeStart,
        long rangeSize,
        long bufferId,
        long pool) {
    /** Where memory lives. */
    public enum Type {
        /** The driver does not know the address: ordinary host memory, or none at all. */
        UNKNOWN,
        /** Host memory that the driver has pinned. */
        PINNED_HOST,
        /** Memory of a GPU. */
        DEVICE,
        /** Migrates between host and GPU. */
        MANAGED
    }

    /** Returns true if {@code length} bytes from the address on are within the allocation, or its size is unknown. */
    public boolean holds(long length) {
        long offset = address - rangeStart;
        return rangeSize == 0 || (offset >= 0 && length >= 0 && length <= rangeSize && offset <= rangeSize - length);
    }

    /** Returns the kind of the memory; HOST if the driver does not know the address. */
    public MemoryKind kind() {
        return switch (type) {
            case UNKNOWN -> MemoryKind.HOST;
            case PINNED_HOST -> MemoryKind.HOST_PINNED;
            case MANAGED -> MemoryKind.CUDA_MANAGED;
            case DEVICE -> {
                if (pool != 0) {
                    yield MemoryKind.CUDA_POOL;
                }
                yield context != 0 ? MemoryKind.CUDA_DEVICE : MemoryKind.CUDA_VMM; // mapped memory has no context
            }
        };
    }
}
