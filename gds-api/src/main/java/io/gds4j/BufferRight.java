package io.gds4j;

import io.gds4j.spi.Operation;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;

/**
 * A right of registered memory: what I/O may do with it.
 *
 * @since 0.1
 */
public enum BufferRight {
    /** I/O may read files into the memory. */
    READ_INTO(1),
    /** I/O may write the memory to files. */
    WRITE_FROM(2);

    private final int bit;

    BufferRight(int bit) {
        this.bit = bit;
    }

    /** Returns the right that a request needs. */
    static BufferRight of(Operation operation) {
        return operation.isWrite() ? WRITE_FROM : READ_INTO;
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
