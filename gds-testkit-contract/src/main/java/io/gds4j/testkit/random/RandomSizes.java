package io.gds4j.testkit.random;

import java.util.random.RandomGenerator;

/** Typical sizes and offsets, and edge cases next to them. */
final class RandomSizes {
    private static final int PAGE = 4096;
    private static final int NEAR = 3;

    private final RandomGenerator random;
    private final int piece;

    RandomSizes(RandomGenerator random, int piece) {
        this.random = random;
        this.piece = piece;
    }

    /** Returns 0 to {@code max}: a few bytes, near pages, near pieces, or any size. */
    int size(int max) {
        int size = switch (random.nextInt(6)) {
            case 0 -> random.nextInt(17);
            case 1 -> PAGE * random.nextInt(1, 9) + random.nextInt(-NEAR, NEAR + 1);
            case 2 -> PAGE * random.nextInt(1, 33);
            case 3 -> piece * random.nextInt(1, 5) + random.nextInt(-NEAR, NEAR + 1);
            case 4 -> random.nextInt(1, 16 * PAGE);
            default -> random.nextInt(max + 1);
        };
        return Math.min(size, max);
    }

    /** Returns 0 to {@code max}: at a page, near one, near {@code end}, or anywhere. */
    int offset(int max, int end) {
        int offset = switch (random.nextInt(5)) {
            case 0 -> 0;
            case 1 -> random.nextInt(max / PAGE + 1) * PAGE;
            case 2 -> random.nextInt(max / PAGE + 1) * PAGE + random.nextInt(-NEAR, NEAR + 1);
            case 3 -> end + random.nextInt(-2 * PAGE, PAGE);
            default -> random.nextInt(max + 1);
        };
        return Math.max(0, Math.min(offset, max));
    }
}
