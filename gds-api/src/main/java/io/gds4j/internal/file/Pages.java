package io.gds4j.internal.file;

/**
 * The block of direct I/O: offsets in a file and in memory have to agree within it. Machines whose pages are larger have it, too; NVIDIA's
 * cuFile calls it 4 KiB alignment.
 */
public final class Pages {
    /** Bytes of a page. */
    public static final long SIZE = 4096;

    private Pages() {
    }

    /** Returns the end of the page before which a value lies; wraps to a negative number near the end of the range. */
    public static long up(long value) {
        return up(value, SIZE);
    }

    /**
     * As {@link #up(long)}, for another unit.
     *
     * @param unit a power of two
     */
    public static long up(long value, long unit) {
        return (value + unit - 1) & -unit;
    }

    /** Returns the start of the page in which a value lies. */
    public static long down(long value) {
        return down(value, SIZE);
    }

    /**
     * As {@link #down(long)}, for another unit.
     *
     * @param unit a power of two
     */
    public static long down(long value, long unit) {
        return value & -unit;
    }

    /** Returns the offset of a value in its page. */
    public static long offset(long value) {
        return value & (SIZE - 1);
    }

    /**
     * Returns whether values are multiples of a page.
     *
     * @param bits all values, joined by {@code |}
     */
    public static boolean isAligned(long bits) {
        return offset(bits) == 0;
    }
}
