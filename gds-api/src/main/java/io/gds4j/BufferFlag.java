package io.gds4j;

import java.util.Set;

/**
 * RDMA flags of {@link CuFileDriver#registerBuffer(io.gds4j.memory.MemoryRange, Set)} ({@code cuFileBufRegister}). They have no
 * effect on machines without RDMA.
 *
 * @since 0.1
 */
public enum BufferFlag {
    /** Also registers the memory with network adapters ({@code CU_FILE_RDMA_REGISTER}). */
    RDMA_REGISTER(1),
    /** Lets network adapters reorder writes ({@code CU_FILE_RDMA_RELAXED_ORDERING}). */
    RDMA_RELAXED_ORDERING(2);

    private final int bit;

    BufferFlag(int bit) {
        this.bit = bit;
    }

    static int toBits(Set<BufferFlag> flags) {
        int bits = 0;
        for (BufferFlag flag : flags) {
            bits |= flag.bit;
        }
        return bits;
    }
}
