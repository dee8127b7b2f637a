package io.gds4j.tools.io;

import io.gds4j.tools.terminal.Units;
import java.util.ArrayList;
import java.util.List;

/**
 * Request sizes, smallest first: one size, or a series that is measured in sequence.
 *
 * @param sizes sizes in bytes
 */
public record IoSizes(List<Long> sizes) {
    private static final int MAX = 256;

    public IoSizes {
        sizes = List.copyOf(sizes);
    }

    /**
     * Parses {@code SIZE}, {@code MIN:MAX:STEP} or {@code MIN:MAX:*FACTOR}.
     *
     * @throws IllegalArgumentException with a message for the user
     */
    public static IoSizes parse(String text) {
        String[] parts = text.split(":", -1);
        if (parts.length == 1) {
            try {
                return new IoSizes(List.of(positive(parts[0])));
            } catch (IllegalArgumentException e) {
                throw new IllegalArgumentException(
                        e.getMessage() + "; several sizes are MIN:MAX:STEP or MIN:MAX:*FACTOR", e);
            }
        }
        if (parts.length != 3) {
            throw new IllegalArgumentException(
                    "'" + text + "' is not an I/O size: allowed are SIZE, MIN:MAX:STEP and MIN:MAX:*FACTOR");
        }
        long least = positive(parts[0]);
        long most = positive(parts[1]);
        if (most < least) {
            throw new IllegalArgumentException("'" + text + "': the largest size is less than the smallest");
        }
        boolean factor = parts[2].startsWith("*");
        long step = positive(factor ? parts[2].substring(1) : parts[2]);
        if (factor && step < 2) {
            throw new IllegalArgumentException("'" + text + "': the factor must be 2 or more");
        }
        List<Long> sizes = new ArrayList<>();
        for (long size = least; size <= most && size > 0; size = factor ? multiplied(size, step) : size + step) {
            sizes.add(size);
            if (sizes.size() > MAX) {
                throw new IllegalArgumentException(
                        "'%s' has more than %s sizes: use a larger step, or a factor such as *2".formatted(text, MAX));
            }
        }
        return new IoSizes(sizes);
    }

    private static long multiplied(long size, long factor) {
        return size > Long.MAX_VALUE / factor ? Long.MAX_VALUE : size * factor;
    }

    private static long positive(String text) {
        long bytes = Units.parseBytes(text);
        if (bytes < 1) {
            throw new IllegalArgumentException("'" + text + "': an I/O size must be 1 byte or more");
        }
        return bytes;
    }

    /** Returns the largest size. */
    public long largest() {
        return sizes.getLast();
    }

    /** Returns the size in a round. A job with fewer sizes than others keeps its last size. */
    public long ofRound(int round) {
        return sizes.get(Math.min(round, sizes.size() - 1));
    }
}
