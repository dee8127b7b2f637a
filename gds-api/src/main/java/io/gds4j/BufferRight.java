package io.gds4j;

import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;

/**
 * What I/O may do with registered memory.
 *
 * @since 0.1
 */
public enum BufferRight {
    /** Files may be read into it: the memory is written. */
    READ_INTO(1),
    /** Files may be written from it: the memory is read. */
    WRITE_FROM(2);

    private final int bit;

    BufferRight(int bit) {
        this.bit = bit;
    }

    /** The right that a request needs. */
    static BufferRight of(boolean write) {
        return write ? WRITE_FROM : READ_INTO;
    }

    boolean isIn(int bits) {
        return (bits & bit) != 0;
    }

    static int toBits(Set<BufferRight> rights) {
        int bits = 0;
        for (BufferRight right : rights) {
            bits |= right.bit;
        }
        return bits;
    }

    static Set<BufferRight> ofBits(int bits) {
        Set<BufferRight> rights = EnumSet.noneOf(BufferRight.class);
        for (BufferRight right : values()) {
            if (right.isIn(bits)) {
                rights.add(right);
            }
        }
        return Collections.unmodifiableSet(rights);
    }
}
