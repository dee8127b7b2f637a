package io.gds4j.testkit;

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
        new SplittableRandom(seed).nextBytes(bytes);
        return bytes;
    }
}
