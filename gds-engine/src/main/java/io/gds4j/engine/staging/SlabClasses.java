package io.gds4j.engine.staging;

import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.internal.file.Pages;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The slabs of a pool by their sizes: a request takes one of the smallest size that fits. The pool's lock guards it. */
final class SlabClasses {
    /** Largest slab that is handed out, in bytes. */
    static final long PIECE_SIZE = 4L << 20;

    private static final long KIB = 1024;

    /** Bytes of small slabs that one mapping and one pinning serve. */
    private static final long TOGETHER = 2L << 20;

    private final List<SlabClass> classes = new ArrayList<>();
    private long slabs;

    /** @param config has the sizes and counts, {@code properties.posix_pool_slab_*} */
    SlabClasses(CuFileConfig config) {
        List<Long> sizes = config.get(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB);
        List<Long> counts = config.get(CuFileKeys.POSIX_POOL_SLAB_COUNT);
        for (int i = 0; i < sizes.size(); i++) {
            long size = sizes.get(i) * KIB;
            if (counts.get(i) < 1) {
                continue;
            }
            if (size <= PIECE_SIZE) {
                long together = Math.max(1, Math.min(counts.get(i), TOGETHER / size));
                add(size, together, counts.get(i) / together);
            } else {
                add(PIECE_SIZE, size / PIECE_SIZE, counts.get(i));
            }
        }
        if (classes.isEmpty()) {
            add(Pages.SIZE, 1, 1);
        }
        classes.sort((a, b) -> Long.compare(a.size(), b.size()));
    }

    /** @param together slabs of a block */
    private void add(long size, long together, long blocks) {
        classes.add(new SlabClass(size, size * together, blocks));
        slabs += together * blocks;
    }

    /** Returns the number of slabs that the configuration allows. */
    long slabs() {
        return slabs;
    }

    /** Returns the classes from the smallest size to the largest, for what each request does with them without the lock. */
    List<SlabClass> bySize() {
        return classes;
    }

    /** Returns the bytes of the largest slab. */
    long largest() {
        return classes.getLast().size();
    }

    /** Returns the bytes of slabs in use. */
    long bytesInUse() {
        long bytes = 0;
        for (int i = 0; i < classes.size(); i++) {
            bytes += classes.get(i).inUse() * classes.get(i).size();
        }
        return bytes;
    }

    /**
     * Takes a slab of the smallest class that fits and has a free slab or can be given more.
     *
     * @param more adds slabs to a class; returns false if it cannot
     */
    @Nullable
    Slab takeOrMake(long bytes, Predicate<SlabClass> more) {
        for (int i = 0; i < classes.size(); i++) {
            SlabClass slabs = classes.get(i);
            if (slabs.size() >= bytes) {
                Slab slab = slabs.take();
                // Other threads may take all new slabs first.
                while (slab == null && slabs.mayGrow() && more.test(slabs)) {
                    slab = slabs.take();
                }
                if (slab != null) {
                    return slab;
                }
            }
        }
        return null;
    }

    /** Returns whether a class that fits has slabs to make. */
    boolean mayGrow(long bytes) {
        return classes.stream().anyMatch(slabs -> slabs.size() >= bytes && slabs.mayGrow());
    }

    /** Returns whether a slab that fits is free or will come back. */
    boolean hasAny(long bytes) {
        return classes.stream().anyMatch(slabs -> slabs.size() >= bytes && slabs.hasAny());
    }

    /** Returns the classes that have slabs to make, the largest first. */
    List<SlabClass> growing() {
        return classes.reversed().stream().filter(SlabClass::mayGrow).toList();
    }

    /** A request has found no slab. */
    void noteLack(long bytes) {
        classes.stream().filter(slabs -> slabs.size() >= bytes).findFirst().ifPresent(SlabClass::noteLack);
    }

    /** Holds back what is not needed for this number of slabs of each class. */
    void reserve(int wanted) {
        classes.forEach(slabs -> slabs.reserve(wanted));
    }

    /** Allows classes more slabs of which requests have found none. Returns whether there are any. */
    boolean growIfLacking() {
        boolean grown = false;
        for (SlabClass slabs : classes) {
            grown |= slabs.growIfLacking();
        }
        return grown;
    }

    /** Removes and returns the blocks without a slab that is in use or was used since the last call. */
    List<SlabBlock> removeUnused() {
        return classes.stream().flatMap(slabs -> slabs.removeUnused().stream()).toList();
    }
}
