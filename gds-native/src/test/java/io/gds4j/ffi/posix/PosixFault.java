package io.gds4j.ffi.posix;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;

/**
 * One fault of a {@link FaultyPosix}: which calls it hits and what happens to them. Filters first, then one of the
 * outcomes, which arms it:
 *
 * <pre>{@code
 * posix.on(PosixCall.PWRITE).direct().nth(2).fails(Errno.EDQUOT);
 * posix.on(PosixCall.PREAD).covering(1 << 20).isShort(512);
 * }</pre>
 *
 * A fault hits once unless {@link #times} or {@link #always} says otherwise.
 */
public final class PosixFault {
    private final FaultyPosix posix;
    private final PosixCall call;
    private final AtomicInteger matches = new AtomicInteger();
    private final AtomicInteger hits = new AtomicInteger();
    private Predicate<PosixRequest> filter = request -> true;
    private int first = 1;
    private int times = 1;
    private long error;
    private long bytes = -1;
    private Runnable before = () -> {
    };

    PosixFault(FaultyPosix posix, PosixCall call) {
        this.posix = posix;
        this.call = call;
    }

    /** Only calls that the predicate accepts. */
    public PosixFault when(Predicate<PosixRequest> predicate) {
        filter = filter.and(predicate);
        return this;
    }

    /** Only calls on this descriptor. */
    public PosixFault fd(int fd) {
        return when(request -> request.fd() == fd);
    }

    /** Only calls on (or opening) a file whose path has this end. */
    public PosixFault path(String suffix) {
        return when(request -> request.path().endsWith(suffix));
    }

    /** Only calls on (or opening) descriptors with O_DIRECT. */
    public PosixFault direct() {
        return when(PosixRequest::isDirect);
    }

    /** Only calls on (or opening) descriptors without O_DIRECT. */
    public PosixFault buffered() {
        return when(request -> !request.isDirect());
    }

    /** Only I/O whose range contains this byte of the file. */
    public PosixFault covering(long fileOffset) {
        return when(request -> request.offset() <= fileOffset && fileOffset - request.offset() < request.count());
    }

    /** Only I/O that starts at this byte of the file. */
    public PosixFault startingAt(long fileOffset) {
        return when(request -> request.offset() == fileOffset);
    }

    /** The first hit is the n-th matching call, 1 for the next. */
    public PosixFault nth(int n) {
        first = n;
        return this;
    }

    /** Hits {@code count} matching calls in a row. */
    public PosixFault times(int count) {
        times = count;
        return this;
    }

    /** Every matching call. */
    public PosixFault always() {
        times = Integer.MAX_VALUE;
        return this;
    }

    /** The call does nothing and answers this (positive) errno. */
    public PosixFault fails(int errno) {
        error = -errno;
        return arm();
    }

    /**
     * The call moves at most {@code atMost} bytes and returns the bytes moved; 0 looks like the end of the file. Direct I/O moves all, and
     * returns no more than this.
     */
    public PosixFault isShort(long atMost) {
        bytes = atMost;
        return arm();
    }

    /** Before the call, on its thread, without any lock: to wait for another thread, or to change the file. */
    public PosixFault runsFirst(Runnable action) {
        before = action;
        return arm();
    }

    /** Returns the number of hits. */
    public int hits() {
        return hits.get();
    }

    private PosixFault arm() {
        posix.arm(this);
        return this;
    }

    /** Counts the request in if it matches; true if this fault now happens to it. */
    boolean hit(PosixRequest request) {
        if (request.call() != call || !filter.test(request)) {
            return false;
        }
        int match = matches.incrementAndGet();
        boolean hit = match >= first && match - (long) first < times;
        if (hit) {
            hits.incrementAndGet();
        }
        return hit;
    }

    Runnable before() {
        return before;
    }

    /** Negative errno, or 0 for none. */
    long error() {
        return error;
    }

    /** Returns {@code count}, or the part of it that this fault allows. */
    long shortened(long count) {
        return bytes < 0 ? count : Math.min(count, bytes);
    }
}
