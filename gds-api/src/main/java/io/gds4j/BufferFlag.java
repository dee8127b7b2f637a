package io.gds4j;

import java.util.Set;

/**
 * Flags of {@code cuFileBufRegister}.
 *
 * @since 0.1
 */
public enum BufferFlag {
    /** Register with the network adapters too ({@code CU_FILE_RDMA_REGISTER}). */
    RDMA_REGISTER(1),
    /** Let them reorder writes ({@code CU_FILE_RDMA_RELAXED_ORDERING}). */
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
