package io.gds4j.engine.staging;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The slabs of one size. Threads take and give free slabs without a lock; new slabs are made under the pool's lock. Each thread has
 * a place for the last slab that it gave back. It finds the slab there again, in its processor's cache and without contention. All
 * other free slabs are in a stack.
 */
final class SlabClass {
    /** Bits of a slab's number in {@link #top}; the tag is above them. */
    private static final int TAG_SHIFT = 32;

    /** Number of places, a power of two. Threads with the same number modulo this share a place. */
    private static final int PLACES = 64;

    /** Number of references in two cache lines: threads at different places do not contend. */
    private static final int SPACING = 32;

    private final long size;
    private final long blockSize;
    private final AtomicInteger abandoned = new AtomicInteger();

    /** Number of the top slab and a tag that each change increments, so that a slab that left and came back is noticed. */
    private final AtomicLong top = new AtomicLong();

    private final AtomicReferenceArray<Slab> near = new AtomicReferenceArray<>((PLACES + 1) * SPACING);

    /** Slabs that are not in the stack. */
    private final AtomicInteger outside = new AtomicInteger();

    /** All slabs by their numbers; null where a block was unmapped. */
    private volatile @Nullable Slab[] slabs = new Slab[0];

    private volatile int count;
    private volatile long blocksLeft;

    /** Blocks that the configuration allows and that are not made while requests run. Guarded by the pool's lock, as the next one. */
    private long blocksHeldBack;

    private boolean lacking;
    private final List<SlabBlock> blocks = new ArrayList<>();

    /**
     * Creates a class without slabs.
     *
     * @param size bytes of a slab
     * @param blockSize bytes of a block, at least {@code size}
     * @param blocks largest number of blocks
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

    /** Takes a free slab; null if there is none. */
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
        if (slab != null) {
            slab.markUsed();
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
            if (slab == null) {
                continue; // its block was unmapped: it is no longer at the top
            }
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

    /** Returns the number of slabs in use or at a thread's place. */
    int outside() {
        return outside.get();
    }

    /** Returns the number of slabs in use. */
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

    /** Counts a slab out that will not come back. */
    void abandon() {
        outside.decrementAndGet();
        abandoned.incrementAndGet();
    }

    boolean mayGrow() {
        return blocksLeft > 0;
    }

    /** Holds back the blocks that are not needed for this number of slabs. */
    void reserve(int wanted) {
        long needed = Math.ceilDiv(wanted * size, blockSize) - blocks.size();
        blocksHeldBack = Math.max(0, blocksLeft - Math.max(0, needed));
        blocksLeft = blocksLeft - blocksHeldBack;
    }

    /** A request has found no slab. */
    void noteLack() {
        lacking = true;
    }

    /** Allows half as many blocks as there are, if requests have found no slab since the last call. Returns whether there are more. */
    boolean growIfLacking() {
        long more = lacking ? Math.min(blocksHeldBack, Math.max(1, blocks.size() / 2)) : 0;
        lacking = false;
        blocksHeldBack -= more;
        blocksLeft = blocksLeft + more;
        return more > 0;
    }

    /** A block is being made; {@link #add} follows. */
    void promise() {
        blocksLeft = blocksLeft - 1;
    }

    /** Returns whether any slab is free or will come back. */
    boolean hasAny() {
        return count > abandoned.get();
    }

    /** Adds the slabs of a block that was promised. */
    void add(SlabBlock block) {
        blocks.add(block);
        int more = (int) (block.size() / size);
        @Nullable Slab[] all = slabs;
        int free = 0;
        for (Slab slab : all) {
            free += slab == null ? 1 : 0;
        }
        all = Arrays.copyOf(all, all.length + Math.max(0, more - free));
        int[] fresh = new int[more];
        int made = 0;
        for (int i = 0; made < more; i++) {
            if (all[i] == null) {
                all[i] = new Slab(block.address() + made * size, this, block, i);
                fresh[made++] = i;
            }
        }
        slabs = all;
        count = count + more;
        outside.addAndGet(more);
        for (int i = more - 1; i >= 0; i--) {
            push(Objects.requireNonNull(all[fresh[i]]));
        }
    }

    /**
     * Removes and returns the blocks without a slab that is in use or was used since the last call. The caller unmaps them. Guarded
     * by the pool's lock: a thread that finds no slab meanwhile waits for the lock.
     */
    List<SlabBlock> removeUnused() {
        List<Slab> free = new ArrayList<>();
        for (int i = 0; i < PLACES; i++) {
            Slab slab = near.getAndSet(place(i), null);
            if (slab != null) {
                free.add(slab);
            }
        }
        for (Slab slab = pop(); slab != null; slab = pop()) {
            free.add(slab);
        }
        Map<SlabBlock, Long> idle = free.stream()
                .filter(slab -> !slab.wasUsed())
                .collect(Collectors.groupingBy(Slab::block, Collectors.counting()));
        List<SlabBlock> unused = new ArrayList<>(blocks);
        unused.removeIf(block -> idle.getOrDefault(block, 0L) < block.size() / size);
        blocks.removeAll(unused);
        @Nullable Slab[] left = slabs.clone();
        for (Slab slab : free.reversed()) {
            if (unused.contains(slab.block())) {
                left[slab.index()] = null;
                outside.decrementAndGet();
                count = count - 1;
            } else {
                push(slab);
            }
        }
        slabs = left;
        blocksLeft = blocksLeft + unused.size();
        return unused;
    }
}
