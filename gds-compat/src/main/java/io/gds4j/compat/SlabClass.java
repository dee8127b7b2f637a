package io.gds4j.compat;

import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * Slabs of one size: free ones, taken and given without a lock, and how many more may be made. A thread leaves the last slab it
 * gave back at a place of its own, where it finds it again, in its processor's cache and without meeting another thread; all
 * other free ones are in a stack. It grows under the pool's lock.
 */
final class SlabClass {
    private static final int TAG_SHIFT = 32;
    private static final int PLACES = 64;

    /** References of two cache lines. */
    private static final int SPACING = 32;

    private final long size;
    private final long blockSize;
    private final AtomicInteger abandoned = new AtomicInteger();

    /** Number of the top slab, and above it a tag that changes each time, lest a slab that went and came back be mistaken. */
    private final AtomicLong top = new AtomicLong();

    private final AtomicReferenceArray<Slab> near = new AtomicReferenceArray<>((PLACES + 1) * SPACING);

    /** Slabs that are not in the stack. */
    private final AtomicInteger outside = new AtomicInteger();

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
        int mine = place((int) Thread.currentThread().threadId());
        Slab slab = near.getPlain(mine) == null ? null : near.getAndSet(mine, null);
        if (slab == null) {
            slab = pop();
        }
        for (int i = 0; slab == null && i < PLACES; i++) {
            int place = place(i);
            slab = near.get(place) == null ? null : near.getAndSet(place, null);
        }
        return slab;
    }

    void give(Slab slab) {
        int mine = place((int) Thread.currentThread().threadId());
        if (!near.compareAndSet(mine, null, slab)) {
            push(slab);
        }
    }

    private static int place(int number) {
        return ((number & PLACES - 1) + 1) * SPACING;
    }

    private @Nullable Slab pop() {
        while (true) {
            long now = top.get();
            int number = (int) now;
            if (number == 0) {
                return null;
            }
            Slab slab = slabs[number - 1];
            if (top.compareAndSet(now, tagged(now, slab.below()))) {
                outside.incrementAndGet();
                return slab;
            }
        }
    }

    private void push(Slab slab) {
        outside.decrementAndGet();
        while (true) {
            long now = top.get();
            slab.setBelow((int) now);
            if (top.compareAndSet(now, tagged(now, slab.index() + 1))) {
                return;
            }
        }
    }

    /** Slabs that are in use or where a thread left them. */
    int outside() {
        return outside.get();
    }

    /** Slabs in use. */
    int inUse() {
        int left = 0;
        for (int i = 0; i < PLACES; i++) {
            left += near.get(place(i)) == null ? 0 : 1;
        }
        return Math.max(0, outside.get() - left);
    }

    private static long tagged(long before, int number) {
        return ((before >>> TAG_SHIFT) + 1) << TAG_SHIFT | number;
    }

    /** A slab that is out does not come back. */
    void abandon() {
        outside.decrementAndGet();
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
        outside.addAndGet(count);
        for (int i = count - 1; i >= 0; i--) {
            push(more[known + i]);
        }
    }
}
