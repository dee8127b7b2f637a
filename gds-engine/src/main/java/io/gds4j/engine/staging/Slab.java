package io.gds4j.engine.staging;

/** A page-aligned part of a {@link BouncePool}'s memory, which the pool hands out and takes back. */
final class Slab {
    private final long address;
    private final SlabClass home;
    private final SlabBlock block;
    private final int index;

    /** Number of the slab below this one in the stack of free slabs, counted from 1; 0 if there is none. */
    private int below;

    /** True if the slab was taken since the last trim. A race loses at most one mark. */
    private boolean used;

    Slab(long address, SlabClass home, SlabBlock block, int index) {
        this.address = address;
        this.home = home;
        this.block = block;
        this.index = index;
    }

    long address() {
        return address;
    }

    long size() {
        return home.size();
    }

    SlabClass home() {
        return home;
    }

    SlabBlock block() {
        return block;
    }

    /** Returns the place in its class, counted from 0. */
    int index() {
        return index;
    }

    void markUsed() {
        if (!used) {
            used = true;
        }
    }

    /** Returns whether the slab was taken since the last call. */
    boolean wasUsed() {
        boolean was = used;
        used = false;
        return was;
    }

    int below() {
        return below;
    }

    void setBelow(int number) {
        below = number;
    }
}
