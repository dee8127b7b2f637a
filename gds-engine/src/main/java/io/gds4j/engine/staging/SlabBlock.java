package io.gds4j.engine.staging;

import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;

/** A mapping that holds slabs, and whether the CUDA driver has pinned it. */
final class SlabBlock {
    enum State {
        PAGEABLE,
        CLAIMED,
        PINNED,
        REFUSED
    }

    static final long HUGE_PAGE = 2L << 20;

    private final long address;
    private final long size;
    private volatile State state = State.PAGEABLE;

    SlabBlock(long address, long size) {
        this.address = address;
        this.size = size;
    }

    long address() {
        return address;
    }

    long size() {
        return size;
    }

    /**
     * Has the kernel clear the pages. In steps, because all that maps memory waits for the one under way: other threads that map blocks, and the
     * CUDA driver, which makes a context.
     */
    void populate(Posix posix) {
        for (long done = 0; done < size; done += HUGE_PAGE) {
            posix.madvise(address + done, Math.min(HUGE_PAGE, size - done), PosixConstants.MADV_POPULATE_WRITE);
        }
    }

    /** Returns whether pinning was tried. A refusal is final, unless only the program's capture of a graph forbids it: copies are slower. */
    boolean isPinningSettled() {
        return state == State.PINNED || state == State.REFUSED;
    }

    /** Returns whether a GPU reaches the memory. */
    boolean isPinned() {
        return state == State.PINNED;
    }

    /** Returns whether the caller is the one that pins the block. Guarded by the pool's lock. */
    boolean claimPinning() {
        boolean claimed = state == State.PAGEABLE;
        if (claimed) {
            state = State.CLAIMED;
        }
        return claimed;
    }

    /** Ends what {@link #claimPinning} began. */
    void settle(State reached) {
        state = reached;
    }

    /** Makes the block pageable; returns whether the caller is to unpin it. */
    boolean claimUnpinning() {
        boolean pinned = state == State.PINNED;
        if (pinned) {
            state = State.PAGEABLE;
        }
        return pinned;
    }
}
