package io.gds4j.dataset;

/**
 * Keyed permutations of the numbers 0 to count - 1 that need no memory: a Feistel network over the next power of two. Results
 * outside the range are permuted again until they are inside (cycle walking), fewer than two times on average.
 */
final class Permutation {
    /** Even, so that the halves have their first sizes again at the end. Four rounds of a random function are enough (Luby, Rackoff). */
    private static final int ROUNDS = 4;

    private static final long GOLDEN = 0x9E3779B97F4A7C15L;
    private static final long MIX_1 = 0xBF58476D1CE4E5B9L;
    private static final long MIX_2 = 0x94D049BB133111EBL;

    private Permutation() {
    }

    /** Mixes two numbers into a key. */
    static long key(long a, long b) {
        return mix(mix(a + GOLDEN) ^ b);
    }

    /** The finalizer of SplitMix64: each bit of the result depends on each bit of the argument. */
    private static long mix(long value) {
        long z = (value ^ (value >>> 30)) * MIX_1;
        z = (z ^ (z >>> 27)) * MIX_2;
        return z ^ (z >>> 31);
    }

    /**
     * Returns where a number goes.
     *
     * @param index 0 to {@code count - 1}
     * @param count 1 or more
     */
    static long apply(long index, long count, long key) {
        int bits = bits(count);
        long at = index;
        do {
            at = forward(at, bits, key);
        } while (at >= count);
        return at;
    }

    /**
     * Returns the number that goes to {@code place}.
     *
     * @param place 0 to {@code count - 1}
     * @param count 1 or more
     */
    static long invert(long place, long count, long key) {
        int bits = bits(count);
        long at = place;
        do {
            at = backward(at, bits, key);
        } while (at >= count);
        return at;
    }

    /** Bits of the network, at least 2: each half needs one. */
    private static int bits(long count) {
        return Math.max(2, Long.SIZE - Long.numberOfLeadingZeros(count - 1));
    }

    private static long forward(long value, int bits, long key) {
        int rightBits = bits / 2;
        int leftBits = bits - rightBits;
        long left = value >>> rightBits;
        long right = value & mask(rightBits);
        for (int round = 0; round < ROUNDS; round++) {
            // The halves swap: the new right half is as wide as the old left one.
            long mixed = left ^ (mix(right + key + round * GOLDEN) & mask(round % 2 == 0 ? leftBits : rightBits));
            left = right;
            right = mixed;
        }
        return left << rightBits | right;
    }

    private static long backward(long value, int bits, long key) {
        int rightBits = bits / 2;
        int leftBits = bits - rightBits;
        long left = value >>> rightBits;
        long right = value & mask(rightBits);
        for (int round = ROUNDS - 1; round >= 0; round--) {
            long mixed = right ^ (mix(left + key + round * GOLDEN) & mask(round % 2 == 0 ? leftBits : rightBits));
            right = left;
            left = mixed;
        }
        return left << rightBits | right;
    }

    private static long mask(int bits) {
        return (1L << bits) - 1;
    }
}
