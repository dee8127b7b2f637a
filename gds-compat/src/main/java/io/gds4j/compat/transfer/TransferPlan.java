package io.gds4j.compat.transfer;

import io.gds4j.engine.staging.CopyPipeline;

/**
 * How one request is cut: pieces that begin at multiples of the piece size in the file, and one range in it that goes past
 * the page cache. Pure arithmetic; set anew for each request, so that a request allocates nothing.
 */
public final class TransferPlan {
    private static final long PAGE = 4096;

    private long offset;
    private long size;
    private long pieceSize = 1;
    private long directFrom;
    private long directTo;
    private boolean write;
    private CacheUse use = CacheUse.UNKNOWN;
    private CacheTrace trace = CacheTrace.KEPT;
    private boolean fromBothEnds;
    private boolean keepsThreads;

    /** What is known of the page cache when a piece is read. */
    enum CacheUse {
        UNKNOWN,
        /** Each piece asks: what is in the page cache is taken from there, even where the plan says direct. */
        ASKED,
        /** The plan would say direct, but everything is in the page cache. */
        HIT,
        /** Parts are missing: the disk is told of a whole piece before the piece is read through the page cache. */
        READ_AHEAD
    }

    /** What a read leaves in the page cache. */
    enum CacheTrace {
        /** As the kernel likes. */
        KEPT,
        /** Bytes that were not there before do not stay. */
        SPARED,
        /** As {@link #SPARED}; nothing of the request was there when it began, so that all of it may be dropped at the end. */
        DROPPED
    }

    /**
     * Everything through the page cache.
     *
     * @param offset first byte in the file
     * @param size bytes
     * @param pieceSize bytes of a piece, a power of two
     */
    public TransferPlan buffered(long offset, long size, long pieceSize) {
        this.offset = offset;
        this.size = size;
        this.pieceSize = pieceSize;
        this.directFrom = offset;
        this.directTo = offset;
        this.write = false;
        cache(CacheUse.UNKNOWN);
        leave(CacheTrace.KEPT);
        this.fromBothEnds = false;
        this.keepsThreads = false;
        return this;
    }

    /**
     * Whole blocks direct, the edges through the page cache.
     *
     * @param alignment bytes to which direct requests are aligned, a power of two
     * @param limit nothing at or past this offset goes direct: for reads the file's size rounded down, because a direct read
     *        across the end overwrites memory behind the count
     */
    public TransferPlan direct(long offset, long size, long pieceSize, long alignment, long limit) {
        buffered(offset, size, pieceSize);
        long from = roundUp(offset, alignment);
        long to = roundDown(Math.min(offset + size, limit), alignment);
        if (from >= offset && to > from) {
            directFrom = from;
            directTo = to;
        }
        return this;
    }

    /** The bytes go from memory to the file. */
    TransferPlan write() {
        write = true;
        return this;
    }

    boolean isWrite() {
        return write;
    }

    /** Stores a change only: storing a reference costs a memory barrier of the garbage collector. */
    TransferPlan cache(CacheUse known) {
        if (use != known) {
            use = known;
        }
        return this;
    }

    CacheUse cacheUse() {
        return use;
    }

    TransferPlan leave(CacheTrace left) {
        if (trace != left) {
            trace = left;
        }
        return this;
    }

    CacheTrace cacheTrace() {
        return trace;
    }

    /** More threads than it begins with would only wait for each other. */
    TransferPlan keepThreads() {
        keepsThreads = true;
        return this;
    }

    boolean keepsThreads() {
        return keepsThreads;
    }

    /** The beginning is in the page cache and the end is not: pieces are taken from both, so that memory and disk work at a time. */
    TransferPlan takeFromBothEnds() {
        fromBothEnds = true;
        return this;
    }

    boolean isTakenFromBothEnds() {
        return fromBothEnds;
    }

    static long roundDown(long value, long alignment) {
        return value & -alignment;
    }

    /** Wraps to a negative number near the end of the range. */
    public static long roundUp(long value, long alignment) {
        return (value + alignment - 1) & -alignment;
    }

    /** First byte in the file. */
    public long offset() {
        return offset;
    }

    /** Bytes. */
    long size() {
        return size;
    }

    /** Bytes of a piece, a power of two. */
    long pieceSize() {
        return pieceSize;
    }

    /** First byte that goes direct; everything before goes buffered. */
    public long directFrom() {
        return directFrom;
    }

    /** End of what goes direct; equal to {@link #directFrom} when nothing does. */
    public long directTo() {
        return directTo;
    }

    /** What a piece needs of a slab: itself and, where it begins inside a page, the bytes before it. */
    long slabBytes() {
        return Math.min(pieceSize, CopyPipeline.skew(offset) + size);
    }

    /** End of the request in the file. */
    public long end() {
        return offset + size;
    }

    public long pieces() {
        return size == 0 ? 0 : (end() - 1) / pieceSize - offset / pieceSize + 1;
    }

    /** The piece that is taken in this turn, counted from 0. */
    long pieceOfTurn(long turn) {
        return !fromBothEnds ? turn : (turn & 1) == 0 ? turn / 2 : pieces() - 1 - turn / 2;
    }

    /** Number of pieces taken from the first on, without a gap, after this number of turns. */
    long takenFromTheFirst(long turns) {
        return fromBothEnds && turns < pieces() ? (turns + 1) / 2 : turns;
    }

    /** First byte of a piece in the file. */
    public long pieceStart(long piece) {
        return piece == 0 ? offset : (offset / pieceSize + piece) * pieceSize;
    }

    /** End of a piece in the file. */
    public long pieceEnd(long piece) {
        long boundary = (offset / pieceSize + piece) * pieceSize + pieceSize;
        return boundary < 0 ? end() : Math.min(end(), boundary);
    }

    /** True if this byte goes past the page cache. */
    public boolean isDirect(long position) {
        return position >= directFrom && position < directTo;
    }

    boolean hasDirect() {
        return directTo > directFrom;
    }

    /** End of the run of equally served bytes that holds {@code position}. */
    public long runEnd(long position) {
        if (position < directFrom) {
            return directFrom;
        }
        return position < directTo ? directTo : Long.MAX_VALUE;
    }

    @Override
    public String toString() {
        return "TransferPlan[offset=%d, size=%d, pieceSize=%d, direct=%d..%d]"
                .formatted(offset, size, pieceSize, directFrom, directTo);
    }
}
