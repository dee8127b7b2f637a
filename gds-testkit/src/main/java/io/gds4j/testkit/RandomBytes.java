package io.gds4j.testkit;

import java.util.SplittableRandom;

/**
 * Content that no two places share, made from a seed.
 *
 * @since 0.1
 */
public final class RandomBytes {
    private RandomBytes() {
    }

    /** {@code length} bytes that this seed always gives. */
    public static byte[] of(long seed, int length) {
        byte[] bytes = new byte[length];
        new SplittableRandom(seed).nextBytes(bytes);
        return bytes;
    }
}
