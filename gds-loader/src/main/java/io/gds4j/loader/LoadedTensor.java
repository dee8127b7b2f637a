package io.gds4j.loader;

import io.gds4j.memory.MemoryRange;

/**
 * A tensor in memory.
 *
 * @param info description of the tensor
 * @param range exactly its bytes; length 0 for a tensor without elements
 * @since 0.1
 */
public record LoadedTensor(TensorInfo info, MemoryRange range) {
    /** Returns the address of the first byte, in the address space of the CPU or the GPU. */
    public long address() {
        return range.address();
    }

    /** Returns the length in bytes. */
    public long length() {
        return range.length();
    }
}
