package io.gds4j.loader;

import io.gds4j.memory.MemoryRange;

/**
 * A tensor in memory.
 *
 * @param info what it is
 * @param range where it is: exactly its bytes; length 0 for a tensor without elements
 * @since 0.1
 */
public record LoadedTensor(TensorInfo info, MemoryRange range) {
    /** Address of its first byte, as the CPU or the GPU sees it. */
    public long address() {
        return range.address();
    }

    /** Bytes. */
    public long length() {
        return range.length();
    }
}
