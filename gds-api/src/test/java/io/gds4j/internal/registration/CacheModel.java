package io.gds4j.internal.registration;

import io.gds4j.internal.registration.RegistrationCache.Statistics;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryRange;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;

/** A cache and a simple model of it: each step runs on both. */
final class CacheModel {
    /** An allocation as it was when it was registered. */
    private static final class Entry {
        final long base;
        final long length;
        final long id;
        final boolean owned;
        final long pages;
        int users;

        Entry(long base, long length, long id, boolean owned, long pages) {
            this.base = base;
            this.length = length;
            this.id = id;
            this.owned = owned;
            this.pages = pages;
        }
    }

    private record Running(CachedRegistration real, Entry expected) {
    }

    private final SplittableRandom random;
    private final int slots;
    private final long page;
    private final long budget;
    private final FakeGpuMemory memory = new FakeGpuMemory();
    private final AtomicLong clock = new AtomicLong();
    private final RegistrationCache cache;
    private final MemoryRange[] foreign;
    private final MemoryAllocation[] owned;
    private final List<Running> running = new ArrayList<>();

    /** Least recently used first. */
    private final Map<Long, Entry> known = new LinkedHashMap<>();
    private final List<Entry> leaving = new ArrayList<>();
    private final long[] counts = new long[6];
    private long refusedFrom = Long.MAX_VALUE;
    private String mismatch = "";

    CacheModel(SplittableRandom random, int slots, long page, long budget) {
        this.random = random;
        this.slots = slots;
        this.page = page;
        this.budget = budget;
        this.foreign = new MemoryRange[slots];
        this.owned = new MemoryAllocation[slots];
        this.memory.room = random.nextBoolean() ? Long.MAX_VALUE : budget - random.nextLong(budget / 2);
        this.cache =
                new RegistrationCache(memory, budget, page, device -> Long.MAX_VALUE, clock::incrementAndGet);
    }

    /** Runs one random step and describes it. */
    String step() {
        int slot = random.nextInt(slots);
        switch (random.nextInt(10)) {
            case 0 -> {
                return free(slot);
            }
            case 1 -> {
                return allocate(slot);
            }
            case 2 -> {
                return endOne();
            }
            default -> {
                return begin(slot);
            }
        }
    }

    private String free(int slot) {
        if (owned[slot] != null && isUsed(FakeGpuMemory.base(slot))) {
            return "nothing: owned memory waits for its I/O";
        }
        if (owned[slot] != null) {
            owned[slot].close();
            owned[slot] = null;
            Entry entry = known.get(FakeGpuMemory.base(slot));
            if (entry != null && entry.owned) {
                drop(entry);
            }
        } else {
            memory.free(slot);
            foreign[slot] = null;
        }
        return "free " + slot;
    }

    private boolean isUsed(long base) {
        return running.stream().anyMatch(one -> one.expected().base == base);
    }

    private String allocate(int slot) {
        if (owned[slot] != null) {
            return "nothing: still allocated";
        }
        long length = 1 + random.nextLong(15 * page);
        if (random.nextBoolean()) {
            foreign[slot] = memory.allocateForeign(slot, length);
        } else {
            foreign[slot] = null;
            owned[slot] = memory.allocateOwned(slot, length);
        }
        return "allocate %d bytes at %d".formatted(length, slot);
    }

    private String endOne() {
        if (running.isEmpty()) {
            return "nothing runs";
        }
        Running one = running.remove(random.nextInt(running.size()));
        one.real().exit();
        one.expected().users--;
        if (one.expected().users == 0 && leaving.remove(one.expected())) {
            refusedFrom = Long.MAX_VALUE;
        }
        return "end I/O at %x".formatted(one.expected().base);
    }

    private String begin(int slot) {
        MemoryRange all = owned[slot] != null ? owned[slot].range() : foreign[slot];
        if (all == null) {
            return "nothing there";
        }
        long offset = random.nextLong(all.length());
        MemoryRange part = all.slice(offset, 1 + random.nextLong(all.length() - offset));
        Entry expected = use(all, owned[slot] != null, part);
        CachedRegistration real = cache.use(part);
        if ((real == null) != (expected == null)) {
            mismatch = "registered: %s, expected: %s".formatted(real != null, expected != null);
        }
        if (real != null && expected != null) {
            if (random.nextInt(4) == 0) {
                running.add(new Running(real, expected));
                expected.users++;
            } else {
                real.exit();
            }
        }
        return "I/O at %d+%d of slot %d".formatted(offset, part.length(), slot);
    }

    // ---- the model

    private Entry use(MemoryRange all, boolean owned, MemoryRange part) {
        long id = memory.idAt(all.address());
        Entry entry = known.get(all.address());
        if (entry != null && part.address() + part.length() <= entry.base + entry.length) {
            if (entry.owned || entry.id == id) {
                counts[0]++;
                known.remove(entry.base);
                known.put(entry.base, entry);
                return entry;
            }
            counts[5]++;
            drop(entry);
            entry = null;
        }
        counts[1]++;
        if (entry != null) {
            counts[5]++;
            drop(entry);
        }
        Entry fresh = new Entry(
                all.address(), all.length(), id, owned, (all.length() + page - 1) / page * page);
        if (makeRoom(fresh) && register(fresh)) {
            known.put(fresh.base, fresh);
            return fresh;
        }
        counts[3]++;
        return null;
    }

    private boolean makeRoom(Entry fresh) {
        if (fresh.pages > budget || fresh.pages >= refusedFrom) {
            return false;
        }
        while (pinned() > budget - fresh.pages) {
            if (!evict()) {
                return false;
            }
        }
        return true;
    }

    private boolean register(Entry fresh) {
        if (leaving.stream().anyMatch(entry -> entry.base == fresh.base)) {
            return false;
        }
        if (fits(fresh)) {
            refusedFrom = Long.MAX_VALUE;
            return true;
        }
        long wanted = Math.max(0, pinned() - fresh.pages);
        boolean evicted = evict();
        while (evicted && pinned() > wanted) {
            evicted = evict();
        }
        boolean fits = fits(fresh);
        refusedFrom = fits ? Long.MAX_VALUE : fresh.pages;
        return fits;
    }

    private boolean fits(Entry fresh) {
        long bytes = known.values().stream().mapToLong(entry -> entry.length).sum()
                + leaving.stream().mapToLong(entry -> entry.length).sum();
        return fresh.length <= memory.room - bytes;
    }

    private long pinned() {
        return known.values().stream().mapToLong(entry -> entry.pages).sum()
                + leaving.stream().mapToLong(entry -> entry.pages).sum();
    }

    private boolean evict() {
        for (Entry entry : known.values()) {
            if (entry.users == 0) {
                counts[4]++;
                drop(entry);
                return true;
            }
        }
        return false;
    }

    private void drop(Entry entry) {
        known.remove(entry.base);
        if (entry.users > 0) {
            leaving.add(entry);
        } else {
            refusedFrom = Long.MAX_VALUE;
        }
    }

    /** Returns how cache and model differ; empty if they do not. */
    String difference() {
        Map<Long, Long> registered = new HashMap<>();
        known.values().forEach(entry -> registered.put(entry.base, entry.length));
        leaving.forEach(entry -> registered.put(entry.base, entry.length));
        Statistics expected = new Statistics(
                counts[0], counts[1], counts[2], counts[3], counts[4], counts[5], known.size(), pinned());
        if (!mismatch.isEmpty()) {
            return mismatch;
        }
        if (!cache.statistics().equals(expected)) {
            return "%s, expected %s".formatted(cache.statistics(), expected);
        }
        return memory.registeredLengths().equals(registered)
                ? String.join(", ", memory.violations)
                : "registered %s, expected %s".formatted(memory.registeredLengths(), registered);
    }

    String differenceAfterClose() {
        cache.close();
        running.forEach(one -> one.real().exit());
        boolean nothingLeft = memory.registeredLengths().isEmpty() && cache.statistics().bytesPinned() == 0;
        for (MemoryAllocation allocation : owned) {
            if (allocation != null) {
                allocation.close();
            }
        }
        return nothingLeft && memory.violations.isEmpty() ? "" : "left: " + memory.registeredLengths();
    }
}
