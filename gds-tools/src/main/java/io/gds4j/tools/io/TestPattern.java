package io.gds4j.tools.io;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/**
 * A pattern whose bytes depend only on their file offset and a seed, so that every range can be checked independently.
 * Bytes at a wrong offset, or of another seed, differ.
 *
 * @param seed seed of the pattern
 */
record TestPattern(long seed) {
    private static final ValueLayout.OfLong WORD =
            ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final long WORD_BYTES = 8;

    /** Returns the aligned eight bytes at {@code offset}, little-endian. */
    private long word(long offset) {
        long z = seed + offset * 0x9E3779B97F4A7C15L;
        z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
        z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
        return z ^ (z >>> 31);
    }

    byte at(long offset) {
        return (byte) (word(offset & -WORD_BYTES) >>> ((offset & (WORD_BYTES - 1)) * Byte.SIZE));
    }

    /** Fills memory with the bytes of the file from {@code fileOffset} on. */
    void fill(MemorySegment memory, long fileOffset) {
        long size = memory.byteSize();
        long i = 0;
        while (i < size && (fileOffset + i) % WORD_BYTES != 0) {
            memory.set(ValueLayout.JAVA_BYTE, i, at(fileOffset + i));
            i++;
        }
        for (; i + WORD_BYTES <= size; i += WORD_BYTES) {
            memory.set(WORD, i, word(fileOffset + i));
        }
        for (; i < size; i++) {
            memory.set(ValueLayout.JAVA_BYTE, i, at(fileOffset + i));
        }
    }

    /** Returns the index of the first byte that differs from the pattern, or -1. */
    long mismatch(MemorySegment memory, long fileOffset) {
        long size = memory.byteSize();
        long i = 0;
        while (i < size) {
            if ((fileOffset + i) % WORD_BYTES == 0 && i + WORD_BYTES <= size
                    && memory.get(WORD, i) == word(fileOffset + i)) {
                i += WORD_BYTES;
            } else if (memory.get(ValueLayout.JAVA_BYTE, i) == at(fileOffset + i)) {
                i++;
            } else {
                return i;
            }
        }
        return -1;
    }
}
