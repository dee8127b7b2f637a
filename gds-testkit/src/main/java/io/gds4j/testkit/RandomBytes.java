package io.gds4j.testkit;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.SplittableRandom;

/**
 * Random content from a seed, in which positions do not repeat.
 *
 * @since 0.1
 */
public final class RandomBytes {
    private RandomBytes() {
    }

    /** Returns {@code length} bytes, the same ones for the same seed. */
    public static byte[] of(long seed, int length) {
        byte[] bytes = new byte[length];
        SplittableRandom random = new SplittableRandom(seed);
        // The bytes of nextBytes, which shifts them out one by one and takes three times as long.
        ByteBuffer target = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        while (target.remaining() >= Long.BYTES) {
            target.putLong(random.nextLong());
        }
        for (long rest = target.hasRemaining() ? random.nextLong() : 0; target.hasRemaining(); rest >>>= Byte.SIZE) {
            target.put((byte) rest);
        }
        return bytes;
    }
}
