package io.gds4j.compat;

/**
 * A piece of bounce-buffer memory, page-aligned. Belongs to a {@link BouncePool}, which hands it out and takes it back.
 */
final class Slab {
    private final long address;
    private final long size;
    private final SlabClass home;
    private final SlabBlock block;

    Slab(long address, long size, SlabClass home, SlabBlock block) {
        this.address = address;
        this.size = size;
        this.home = home;
        this.block = block;
    }

    long address() {
        return address;
    }

    long size() {
        return size;
    }

    SlabClass home() {
        return home;
    }

    SlabBlock block() {
        return block;
    }
}
