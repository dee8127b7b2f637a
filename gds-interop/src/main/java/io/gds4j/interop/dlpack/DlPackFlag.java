package io.gds4j.interop.dlpack;

import java.util.EnumSet;
import java.util.Set;

/**
 * What a tensor of DLPack 1.x tells about its memory.
 *
 * @since 0.1
 */
public enum DlPackFlag {
    /** The consumer must not write to the memory. */
    READ_ONLY(1),
    /** The producer made this copy for the consumer, who alone uses it. */
    COPIED(2),
    /** Each element shorter than a byte fills a byte of its own. Without the flag elements are packed. */
    SUBBYTE_PADDED(4);

    private final long bit;

    DlPackFlag(long bit) {
        this.bit = bit;
    }

    static long bits(Set<DlPackFlag> flags) {
        long bits = 0;
        for (DlPackFlag flag : flags) {
            bits |= flag.bit;
        }
        return bits;
    }

    /** Ignores bits of newer minor versions: they add information and change no meaning. */
    static Set<DlPackFlag> of(long bits) {
        Set<DlPackFlag> flags = EnumSet.noneOf(DlPackFlag.class);
        for (DlPackFlag flag : values()) {
            if ((bits & flag.bit) != 0) {
                flags.add(flag);
            }
        }
        return flags;
    }
}
