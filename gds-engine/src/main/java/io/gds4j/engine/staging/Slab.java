package io.gds4j.engine.staging;

/**
 * A piece of bounce-buffer memory, page-aligned. Belongs to a {@link BouncePool}, which hands it out and takes it back.
 */
public final class Slab {
    private final long address;
    private final SlabClass home;
    private final SlabBlock block;
    private final int index;

    /** Number, from 1 on, of the slab below this one in its class's stack of free ones; 0 for none. */
    private int below;

    /** Taken since the pool last looked; a race loses a mark at most. */
    private boolean used;

    Slab(long address, SlabClass home, SlabBlock block, int index) {
        this.address = address;
        this.home = home;
        this.block = block;
        this.index = index;
    }

    public long address() {
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

    /** Place in its class, from 0 on. */
    int index() {
        return index;
    }

    void markUsed() {
        if (!used) {
            used = true;
        }
    }

    /** True if it was taken since the last question. */
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
