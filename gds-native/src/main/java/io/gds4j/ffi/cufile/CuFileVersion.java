package io.gds4j.ffi.cufile;

import java.util.Locale;

/**
 * The version that a library reports about itself. A wheel's library has no version in its file name.
 *
 * @param number the answer of {@code cuFileGetVersion}: 1000 times the major plus 10 times the minor version; 0 before 1.8, which
 *        has no such function
 */
public record CuFileVersion(int number) {
    /** The newest version whose structures and answers gds4j knows. */
    public static final CuFileVersion NEWEST_KNOWN = new CuFileVersion(1200);

    private static final CuFileVersion FIRST_THAT_COUNTS_VECTORS = new CuFileVersion(1190);

    /** Returns true if gds4j was written before this version. */
    public boolean isNewerThanKnown() {
        return number > NEWEST_KNOWN.number;
    }

    /** Returns true from that version on. */
    public boolean isAtLeast(CuFileVersion other) {
        return number >= other.number;
    }

    /** Returns true if the statistics' structures have counters of {@code cuFileReadv} and {@code cuFileWritev}. */
    boolean countsVectors() {
        return isAtLeast(FIRST_THAT_COUNTS_VECTORS);
    }

    /** Returns {@code 1.20} for 1200. */
    @Override
    public String toString() {
        return number == 0 ? "before 1.8" : String.format(Locale.ROOT, "%d.%d", number / 1000, number % 1000 / 10);
    }
}
