package io.gds4j;

import java.util.EnumSet;
import java.util.Set;

/**
 * A mechanism for direct transfers between storage and GPU ({@code CUfileP2PFlags_t} of cuFile 1.16).
 *
 * @since 0.1
 */
public enum P2pFlag {
    /** PCI peer-to-peer DMA of the kernel; the only flag that a program may set on x86-64. */
    PCI_P2PDMA,
    /** nvidia-fs. */
    NVFS,
    /** DMA-BUF. */
    DMABUF,
    /** NVLink C2C; the only flag that a program may set on AArch64. */
    C2C,
    /** nvidia-peermem. */
    NVIDIA_PEERMEM;

    private int bit() {
        return 1 << ordinal();
    }

    static int toBits(Set<P2pFlag> flags) {
        int bits = 0;
        for (P2pFlag flag : flags) {
            bits |= flag.bit();
        }
        return bits;
    }

    static Set<P2pFlag> ofBits(int bits) {
        Set<P2pFlag> flags = EnumSet.noneOf(P2pFlag.class);
        for (P2pFlag flag : values()) {
            if ((bits & flag.bit()) != 0) {
                flags.add(flag);
            }
        }
        return flags;
    }
}
