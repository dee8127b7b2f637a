package io.gds4j.compat;

/**
 * How one request is cut: pieces that begin at multiples of the piece size in the file, and one range in it that goes past
 * the page cache. Pure arithmetic.
 *
 * @param offset first byte in the file
 * @param size bytes
 * @param pieceSize bytes of a piece, a power of two
 * @param directFrom first byte that goes direct; everything before goes buffered
 * @param directTo end of what goes direct; equal to {@code directFrom} when nothing does
 */
record RequestPlan(long offset, long size, long pieceSize, long directFrom, long directTo) {

    /** Everything through the page cache. */
    static RequestPlan buffered(long offset, long size, long pieceSize) {
        return new RequestPlan(offset, size, pieceSize, offset, offset);
    }

    /**
     * Whole blocks direct, the edges through the page cache.
     *
     * @param alignment bytes to which direct requests are aligned, a power of two
     * @param limit nothing at or past this offset goes direct: for reads the file's size rounded down, because a direct read
     *        across the end overwrites memory behind the count
     */
    static RequestPlan direct(long offset, long size, long pieceSize, long alignment, long limit) {
        long from = roundUp(offset, alignment);
        long to = roundDown(Math.min(offset + size, limit), alignment);
        if (from < offset || to <= from) {
            return buffered(offset, size, pieceSize);
        }
        return new RequestPlan(offset, size, pieceSize, from, to);
    }

    static long roundDown(long value, long alignment) {
        return value & -alignment;
    }

    /** Wraps to a negative number near the end of the range. */
    static long roundUp(long value, long alignment) {
        return (value + alignment - 1) & -alignment;
    }

    /** End of the request in the file. */
    long end() {
        return offset + size;
    }

    long pieces() {
        if (size == 0) {
            return 0;
        }
        return (end() - 1) / pieceSize - offset / pieceSize + 1;
    }

    /** First byte of a piece in the file. */
    long pieceStart(long piece) {
        return piece == 0 ? offset : (offset / pieceSize + piece) * pieceSize;
    }

    /** End of a piece in the file. */
    long pieceEnd(long piece) {
        long boundary = (offset / pieceSize + piece) * pieceSize + pieceSize;
        return boundary < 0 ? end() : Math.min(end(), boundary);
    }

    /** True if this byte goes past the page cache. */
    boolean isDirect(long position) {
        return position >= directFrom && position < directTo;
    }

    boolean hasDirect() {
        return directTo > directFrom;
    }

    /** End of the run of equally served bytes that holds {@code position}. */
    long runEnd(long position) {
        if (position < directFrom) {
            return directFrom;
        }
        return position < directTo ? directTo : Long.MAX_VALUE;
    }
}
