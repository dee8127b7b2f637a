package io.gds4j.libcufile.process;

import io.gds4j.config.SlabArray;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * Limits how many batch entries are inside the library at a time. In its POSIX mode each entry holds a host slab until
 * its event is taken, and submitting one entry more than there are slabs of its size hangs forever. So entries are
 * counted over all batches of the process. Half of the slabs stay free for other transfers.
 */
public final class SlabBudget {
    /** Takes slabs, and can give back those of entries that have completed. */
    public interface Holder {
        /** Takes completed entries from the library, so that their slabs come free. */
        void reap();
    }

    private static final long KIB = 1024;

    private final long[] sizes;
    private final int[] free;
    private final boolean limited;
    private final Set<Holder> holders = new LinkedHashSet<>();

    private SlabBudget(long[] sizes, int[] free, boolean limited) {
        this.sizes = sizes;
        this.free = free;
        this.limited = limited;
    }

    /** For a library that may serve by POSIX I/O with these slabs. */
    static SlabBudget of(SlabArray slabs) {
        long[] sizes = slabs.sizesKb().stream().mapToLong(kb -> kb * KIB).toArray();
        int[] free = slabs.counts().stream().mapToInt(count -> (int) Math.max(1, count / 2)).toArray();
        return new SlabBudget(sizes, free, true);
    }

    /** For a library that never serves by POSIX I/O. */
    static SlabBudget unlimited() {
        return new SlabBudget(new long[1], new int[1], false);
    }

    /** The class of the slab that an entry of this size takes: the smallest that fits, else the largest. */
    public int classOf(long size) {
        int best = 0;
        for (int i = 1; i < sizes.length; i++) {
            boolean fits = sizes[i] >= size;
            boolean bestFits = sizes[best] >= size;
            if (fits ? !bestFits || sizes[i] < sizes[best] : !bestFits && sizes[i] > sizes[best]) {
                best = i;
            }
        }
        return best;
    }

    /** False for an entry that is larger than every slab: the library fails it, or ends it early. */
    public boolean holds(long size) {
        return !limited || Arrays.stream(sizes).anyMatch(slab -> slab >= size);
    }

    /** Takes a slab of a class; false if none is free. */
    public synchronized boolean tryTake(int slabClass) {
        if (limited && free[slabClass] == 0) {
            return false;
        }
        free[slabClass]--;
        return true;
    }

    public synchronized void giveBack(int slabClass) {
        free[slabClass]++;
    }

    public synchronized void add(Holder holder) {
        holders.add(holder);
    }

    public synchronized void remove(Holder holder) {
        holders.remove(holder);
    }

    /** Lets the other holders release slabs: the owner of another batch may not ask for events for a long time. */
    public void reapOthers(Holder starved) {
        List<Holder> others;
        synchronized (this) {
            others = holders.stream().filter(holder -> holder != starved).toList();
        }
        others.forEach(Holder::reap);
    }

    @Override
    public synchronized String toString() {
        return limited ? "SlabBudget" + Arrays.toString(free) : "SlabBudget[unlimited]";
    }
}
