package io.gds4j.engine.staging;

/** A mapping that holds slabs, and whether the CUDA driver has pinned it. */
final class SlabBlock {
    private enum State {
        PAGEABLE,
        PINNED,
        REFUSED
    }

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

    /** Returns whether pinning was tried. A refusal is final: copies are slower then. */
    boolean isPinningSettled() {
        return state != State.PAGEABLE;
    }

    /** Returns whether a GPU reaches the memory. */
    boolean isPinned() {
        return state == State.PINNED;
    }

    synchronized void pin(BouncePool.Pinning pinning) {
        if (state == State.PAGEABLE) {
            state = pinning.pin(address, size) ? State.PINNED : State.REFUSED;
        }
    }

    synchronized void unpin(BouncePool.Pinning pinning) {
        if (state == State.PINNED) {
            state = State.PAGEABLE;
            pinning.unpin(address);
        }
    }
}
