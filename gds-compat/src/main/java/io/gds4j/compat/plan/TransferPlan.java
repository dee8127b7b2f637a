package io.gds4j.compat.plan;

import io.gds4j.engine.staging.CopySlots;
import io.gds4j.internal.file.Pages;
import io.gds4j.spi.ResultSink;

/**
 * The plan of one request: pieces that begin at multiples of the piece size in the file, and one range that bypasses the page
 * cache. Pure arithmetic. Reused, so that a request allocates nothing.
 */
public final class TransferPlan {

    private long offset;
    private long size;
    private long pieceSize = 1;
    private long directFrom;
    private long directTo;
    private boolean write;
    private CacheUse use = CacheUse.UNKNOWN;
    private CacheTrace trace = CacheTrace.KEPT;
    private boolean fromBothEnds;
    private boolean joinable;
    private int readers;
    private ResultSink sink = ResultSink.NONE;

    /** How a piece uses the page cache. */
    public enum CacheUse {
        /** As the plan says. */
        UNKNOWN,
        /** Each piece asks the kernel, and takes cached bytes from the page cache even where the plan says direct. */
        ASKED,
        /** Everything is in the page cache, so that no byte goes direct. */
        HIT,
        /** Parts are not cached: the kernel is told of a whole piece before the piece is read through the page cache. */
        READ_AHEAD
    }

    /** What a read leaves in the page cache. */
    public enum CacheTrace {
        /** What the kernel keeps. */
        KEPT,
        /** Nothing that was not there before. */
        SPARED,
        /** As {@link #SPARED}. Nothing of the request was cached when it began, so that all of it may be dropped at the end. */
        DROPPED
    }

    /**
     * Plans that every byte goes through the page cache.
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
        this.joinable = false;
        this.readers = 0;
        return this;
    }

    /**
     * Plans that whole blocks go direct, and the edges through the page cache.
     *
     * @param alignment bytes to which direct requests are aligned, a power of two
     * @param limit offset from which on nothing goes direct: for reads the file's size rounded down, because a direct read across
     *        the end of the file overwrites memory behind the bytes that it returns
     */
    public TransferPlan direct(long offset, long size, long pieceSize, long alignment, long limit) {
        buffered(offset, size, pieceSize);
        long from = Pages.up(offset, alignment);
        long to = Pages.down(Math.min(offset + size, limit), alignment);
        if (from >= offset && to > from) {
            directFrom = from;
            directTo = to;
        }
        return this;
    }

    /** Makes the request a write. */
    TransferPlan write() {
        write = true;
        return this;
    }

    public boolean isWrite() {
        return write;
    }

    /** Sets the use of the page cache. Stores a change only: a stored reference costs a memory barrier of the garbage collector. */
    TransferPlan cache(CacheUse known) {
        if (use != known) {
            use = known;
        }
        return this;
    }

    public CacheUse cacheUse() {
        return use;
    }

    TransferPlan leave(CacheTrace left) {
        if (trace != left) {
            trace = left;
        }
        return this;
    }

    public CacheTrace cacheTrace() {
        return trace;
    }

    /** Sets whether more threads may join when other requests end. */
    TransferPlan joinable(boolean value) {
        joinable = value;
        return this;
    }

    public boolean isJoinable() {
        return joinable;
    }

    /** Has one kernel copy all pieces, and tells it how many threads read them. */
    public TransferPlan gathered(int threads) {
        readers = threads;
        return this;
    }

    /** Returns whether one kernel copies all pieces. */
    public boolean isGathered() {
        return readers > 0;
    }

    /** Returns the number of threads that read the pieces that one kernel copies; 0 if none does. */
    public int readers() {
        return readers;
    }

    /** Sets what hears of the bytes. Stores a change only, as {@link #cache} does. */
    public void reportTo(ResultSink hearing) {
        if (sink != hearing) {
            sink = hearing;
        }
    }

    public ResultSink sink() {
        return sink;
    }

    /** Has pieces taken from both ends: only the beginning is cached, so that memory and disk work at the same time. */
    public TransferPlan takeFromBothEnds() {
        fromBothEnds = true;
        return this;
    }

    public boolean isTakenFromBothEnds() {
        return fromBothEnds;
    }

    /** Returns the offset of the first byte in the file. */
    public long offset() {
        return offset;
    }

    /** Returns the number of bytes. */
    public long size() {
        return size;
    }

    /** Returns the bytes of a piece, a power of two. */
    public long pieceSize() {
        return pieceSize;
    }

    /** Returns the offset of the first byte that goes direct. */
    public long directFrom() {
        return directFrom;
    }

    /** Returns the end of the bytes that go direct; {@link #directFrom} if there are none. */
    public long directTo() {
        return directTo;
    }

    /** Returns the bytes that a piece needs in a slab: its own and, if it begins inside a page, those before it in the page. */
    public long slabBytes() {
        return Math.min(pieceSize, CopySlots.skew(offset) + size);
    }

    /** Returns the end of the request in the file. */
    public long end() {
        return offset + size;
    }

    public long pieces() {
        return size == 0 ? 0 : (end() - 1) / pieceSize - offset / pieceSize + 1;
    }

    /** Returns the offset of a piece in the file. */
    public long pieceStart(long piece) {
        return piece == 0 ? offset : (offset / pieceSize + piece) * pieceSize;
    }

    /** Returns the end of a piece in the file. */
    public long pieceEnd(long piece) {
        long boundary = (offset / pieceSize + piece) * pieceSize + pieceSize;
        return boundary < 0 ? end() : Math.min(end(), boundary);
    }

    /** Returns whether a byte of the file goes direct. */
    public boolean isDirect(long position) {
        return position >= directFrom && position < directTo;
    }

    public boolean hasDirect() {
        return directTo > directFrom;
    }

    /** Returns the end of the bytes from {@code position} on that go the same way. */
    public long runEnd(long position) {
        if (position < directFrom) {
            return directFrom;
        }
        return position < directTo ? directTo : Long.MAX_VALUE;
    }

    @Override
    public String toString() {
        return "TransferPlan[offset=%s, size=%s, pieceSize=%s, direct=%s..%s]"
                .formatted(offset, size, pieceSize, directFrom, directTo);
    }
}
