package io.gds4j.internal.registration;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.internal.lifetime.ThreadState;
import io.gds4j.internal.memory.MemoryAccess;
import io.gds4j.internal.registration.RegistrationCache.Statistics;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryRange;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.junit.jupiter.api.Test;

/**
 * Compares the cache with a model and uses it from several threads. {@code -Dgds4j.property.seconds} sets the length of the class,
 * {@code -Dgds4j.property.seed} repeats a run.
 */
class RegistrationCachePropertyTest {
    private static final long SEED = Long.getLong("gds4j.property.seed", System.nanoTime());
    private static final Duration TIME = Duration.ofSeconds(Long.getLong("gds4j.property.seconds", 1));
    private static final int SLOTS = 12;
    private static final long PAGE = 64 << 10;
    private static final long BUDGET = 40 * PAGE;

    @Test
    void cacheDoesWhatASimpleModelDoes() {
        long end = System.nanoTime() + TIME.dividedBy(2).toNanos();
        for (long seed = SEED; System.nanoTime() < end; seed++) {
            CacheModel model = new CacheModel(new SplittableRandom(seed), SLOTS, PAGE, BUDGET);
            for (int step = 0; step < 500; step++) {
                String done = model.step();
                assertThat(model.difference()).as("-Dgds4j.property.seed=%d step %d: %s", seed, step, done).isEmpty();
            }
            assertThat(model.differenceAfterClose()).as("-Dgds4j.property.seed=%d after close", seed).isEmpty();
        }
    }

    /** The memory of one slot: threads free it and allocate it again while other threads move bytes. */
    private static final class Slot {
        final ReentrantReadWriteLock foreignUse = new ReentrantReadWriteLock();
        volatile MemoryRange range;
        volatile MemoryAllocation owned;
    }

    @Test
    void threadsNeverUseRegistrationsOfFreedMemory() throws InterruptedException {
        FakeGpuMemory memory = new FakeGpuMemory();
        memory.room = BUDGET - 5 * PAGE;
        AtomicLong clock = new AtomicLong();
        RegistrationCache cache =
                new RegistrationCache(memory, BUDGET, PAGE, device -> Long.MAX_VALUE, clock::incrementAndGet);
        List<Slot> slots = new ArrayList<>();
        for (int i = 0; i < SLOTS; i++) {
            slots.add(new Slot());
        }
        AtomicLongArray counts = new AtomicLongArray(2);
        List<Throwable> thrown = Collections.synchronizedList(new ArrayList<>());
        long end = System.nanoTime() + TIME.dividedBy(2).toNanos();
        List<Thread> threads = new ArrayList<>();
        for (int t = 0; t < 4; t++) {
            SplittableRandom random = new SplittableRandom(SEED + t);
            threads.add(Thread.ofPlatform().start(() -> {
                try {
                    while (System.nanoTime() < end) {
                        int slot = random.nextInt(SLOTS);
                        if (random.nextInt(10) == 0) {
                            allocateAgain(memory, slots.get(slot), slot, random);
                        } else if (random.nextInt(50) == 0) {
                            cache.giveWay(FakeGpuMemory.base(slot));
                            cache.takeBack(FakeGpuMemory.base(slot));
                        } else {
                            move(memory, cache, slots.get(slot), random, counts);
                        }
                    }
                } catch (Throwable e) {
                    thrown.add(e);
                }
            }));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        String seed = "-Dgds4j.property.seed=" + SEED;
        assertThat(thrown).as(seed).isEmpty();
        Statistics before = cache.statistics();
        assertThat(before.hits()).as(seed).isPositive();
        assertThat(before.evictions()).as(seed).isPositive();
        assertThat(before.bytesPinned()).as(seed).isLessThanOrEqualTo(BUDGET);
        assertThat(before.hits() + before.misses() + before.uncacheable()).as(seed).isEqualTo(counts.get(0));
        assertThat(before.hits() + before.misses() - before.refused()).as(seed).isEqualTo(counts.get(1));
        cache.close();
        assertThat(memory.violations).as(seed).isEmpty();
        assertThat(memory.registeredLengths()).as(seed).isEmpty();
        assertThat(cache.statistics().bytesPinned()).as(seed).isZero();
        slots.stream().map(slot -> slot.owned).filter(Objects::nonNull).forEach(MemoryAllocation::close);
    }

    private static void allocateAgain(FakeGpuMemory memory, Slot slot, int number, SplittableRandom random) {
        slot.foreignUse.writeLock().lock();
        try {
            MemoryAllocation old = slot.owned;
            if (old != null) {
                slot.owned = null;
                old.close();
            } else {
                memory.free(number);
            }
            slot.range = null;
            long length = 1 + random.nextLong(12 * PAGE);
            if (random.nextBoolean()) {
                slot.range = memory.allocateForeign(number, length);
            } else {
                slot.owned = memory.allocateOwned(number, length);
            }
        } finally {
            slot.foreignUse.writeLock().unlock();
        }
    }

    /** The lock keeps foreign memory from being freed under I/O; memory of gds4j needs none. */
    private static void move(
            FakeGpuMemory memory, RegistrationCache cache, Slot slot, SplittableRandom random,
            AtomicLongArray counts) {
        slot.foreignUse.readLock().lock();
        try {
            MemoryAllocation owned = slot.owned;
            MemoryRange range = owned != null ? owned.range() : slot.range;
            if (range == null) {
                return;
            }
            long offset = random.nextLong(range.length());
            MemoryRange part = range.slice(offset, 1 + random.nextLong(range.length() - offset));
            MemoryAccess.USES.enter(part, ThreadState.current());
            try {
                counts.incrementAndGet(0);
                CachedRegistration used = cache.use(part);
                if (used != null) {
                    counts.incrementAndGet(1);
                    memory.beginIo(used.whole(), part);
                    Thread.yield();
                    memory.endIo(used.whole());
                    used.exit();
                }
            } finally {
                MemoryAccess.USES.exit(part, ThreadState.current());
            }
        } finally {
            slot.foreignUse.readLock().unlock();
        }
    }
}
