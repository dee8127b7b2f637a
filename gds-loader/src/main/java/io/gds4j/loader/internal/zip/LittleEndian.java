package io.gds4j.loader.internal.zip;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Little-endian numbers in bytes; 16 and 32 bits are unsigned. */
final class LittleEndian {
    /** Value of a 32-bit field whose number is in the ZIP64 field instead. */
    static final long ABSENT_32 = 0xFFFFFFFFL;

    private final ByteBuffer buffer;

    LittleEndian(ByteBuffer buffer) {
        this.buffer = buffer.order(ByteOrder.LITTLE_ENDIAN);
    }

    int length() {
        return buffer.limit();
    }

    /** Returns a copy of bytes. */
    byte[] bytes(int from, int to) {
        byte[] copy = new byte[to - from];
        buffer.get(from, copy);
        return copy;
    }

    int u16(int at) {
        return Short.toUnsignedInt(buffer.getShort(at));
    }

    long u32(int at) {
        return Integer.toUnsignedLong(buffer.getInt(at));
    }

    /** Returns a 64-bit number; negative if its highest bit is set. */
    long u64(int at) {
        return buffer.getLong(at);
    }
}
