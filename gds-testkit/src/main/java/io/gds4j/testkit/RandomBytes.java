package io.gds4j.testkit;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import java.util.SplittableRandom;

/**
 * Random content from a seed, in which positions do not repeat: those of {@link SplittableRandom#nextBytes}.
 *
 * @since 0.1
 */
public final class RandomBytes {
    /** Longs that are copied at a time: 8 KiB, which a processor's first cache holds. */
    private static final int SOME = 1024;

    private RandomBytes() {
    }

    /** Returns {@code length} bytes, the same ones for the same seed. */
    public static byte[] of(long seed, int length) {
        byte[] bytes = new byte[length];
        SplittableRandom random = new SplittableRandom(seed);
        // nextBytes shifts out one byte at a time, which takes many times as long in a JVM without the second compiler, as tests have it.
        LongBuffer target = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).asLongBuffer();
        long[] some = new long[Math.min(SOME, target.remaining())];
        while (target.hasRemaining()) {
            int count = Math.min(some.length, target.remaining());
            for (int i = 0; i < count; i++) {
                some[i] = random.nextLong();
            }
            target.put(some, 0, count);
        }
        long rest = random.nextLong();
        for (int i = target.limit() * Long.BYTES; i < length; i++, rest >>>= Byte.SIZE) {
            bytes[i] = (byte) rest;
        }
        return bytes;
    }
}
