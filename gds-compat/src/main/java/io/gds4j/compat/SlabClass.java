package io.gds4j.compat;

import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Slabs of one size: a stack of free ones, taken and given without a lock, and how many more may be made. It grows under the
 * pool's lock.
 */
final class SlabClass {
    private static final int TAG_SHIFT = 32;

    private final long size;
    private final long blockSize;
    private final AtomicInteger abandoned = new AtomicInteger();

    /** Number of the top slab, and above it a tag that changes each time, lest a slab that went and came back be mistaken. */
    private final AtomicLong top = new AtomicLong();

    private volatile Slab[] slabs = new Slab[0];
    private volatile long blocksLeft;

    /**
     * A class without slabs yet.
     *
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

    /** A free slab, or null. */
    @Nullable
    Slab take() {
        while (true) {
            long now = top.get();
            int number = (int) now;
            if (number == 0) {
                return null;
            }
            Slab slab = slabs[number - 1];
            if (top.compareAndSet(now, tagged(now, slab.below()))) {
                return slab;
            }
        }
    }

    void give(Slab slab) {
        while (true) {
            long now = top.get();
            slab.setBelow((int) now);
            if (top.compareAndSet(now, tagged(now, slab.index() + 1))) {
                return;
            }
        }
    }

    private static long tagged(long before, int number) {
        return ((before >>> TAG_SHIFT) + 1) << TAG_SHIFT | number;
    }

    /** A slab that is out does not come back. */
    void abandon() {
        abandoned.incrementAndGet();
    }

    boolean mayGrow() {
        return blocksLeft > 0;
    }

    /** True if there are any that are free or will come back, so that waiting for one makes sense. */
    boolean hasAny() {
        return slabs.length > abandoned.get();
    }

    /** Cuts a new block into free slabs. */
    void add(SlabBlock block) {
        blocksLeft = blocksLeft - 1;
        int known = slabs.length;
        int count = (int) (block.size() / size);
        Slab[] more = Arrays.copyOf(slabs, known + count);
        for (int i = 0; i < count; i++) {
            more[known + i] = new Slab(block.address() + i * size, this, block, known + i);
        }
        slabs = more;
        for (int i = count - 1; i >= 0; i--) {
            give(more[known + i]);
        }
    }
}
