package io.gds4j.compat;

import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/** Slabs of one size: those that are free, and how many more may be made. Guarded by the pool's lock. */
final class SlabClass {
    private final long size;
    private final long blockSize;
    private final Deque<Slab> free = new ArrayDeque<>();
    private long blocksLeft;
    private long total;

    /**
     * @param size bytes of a slab as it is handed out
     * @param blockSize bytes that are mapped at a time, at least {@code size}
     * @param blocks how many blocks there may be
     */
    SlabClass(long size, long blockSize, long blocks) {
        this.size = size;
        this.blockSize = blockSize;
        this.blocksLeft = blocks;
    }

    long size() {
        return size;
    }

    long blockSize() {
        return blockSize;
    }

    @Nullable
    Slab take() {
        return free.poll();
    }

    void give(Slab slab) {
        free.push(slab);
    }

    void abandon() {
        total--;
    }

    boolean mayGrow() {
        return blocksLeft > 0;
    }

    /** True if some are out, so that waiting for one makes sense. */
    boolean hasSomeOut() {
        return total > free.size();
    }

    /** Cuts a new block into free slabs. */
    void add(SlabBlock block) {
        blocksLeft--;
        for (long offset = 0; offset + size <= block.size(); offset += size) {
            free.add(new Slab(block.address() + offset, size, this, block));
            total++;
        }
    }
}
