package io.gds4j.engine.staging;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Each slab has one taker at a time and is never lost. The blocks have addresses but no memory: a slab class touches none. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SlabClassTest {
    private static final long SEED = Long.getLong("gds4j.property.seed", System.nanoTime());
    private static final String REPEAT = "repeat with -Dgds4j.property.seed=" + SEED;
    private static final long SIZE = 4096;
    private static final int THREADS = 6;
    private static final int ROUNDS = 100_000;

    /** Slabs that a thread holds at most: all threads together want more than there are. */
    private static final int MAX_HELD = 3;

    private static SlabBlock block(int number, int slabs) {
        return new SlabBlock(1L + number << 32, slabs * SIZE);
    }

    /** Returns a class with one block of {@code slabs} slabs for each number from 0 to {@code blocks - 1}. */
    private static SlabClass slabs(int slabs, int blocks) {
        SlabClass made = new SlabClass(SIZE, slabs * SIZE, blocks);
        for (int i = 0; i < blocks; i++) {
            made.promise();
            made.add(block(i, slabs));
        }
        return made;
    }

    private static List<Slab> takeAll(SlabClass slabs) {
        List<Slab> taken = new ArrayList<>();
        for (Slab slab = slabs.take(); slab != null; slab = slabs.take()) {
            taken.add(slab);
        }
        return taken;
    }

    @Test
    void blockIsCutIntoSlabsAndExhaustedByTakingEachOnce() {
        SlabClass slabs = slabs(5, 1);
        long start = block(0, 5).address();
        assertThat(takeAll(slabs)).extracting(Slab::address)
                .containsExactlyInAnyOrder(start, start + SIZE, start + 2 * SIZE, start + 3 * SIZE, start + 4 * SIZE);
        assertThat(slabs.take()).isNull();
        assertThat(slabs.inUse()).isEqualTo(5);
    }

    @Test
    void classWithoutBlocksHasNoSlab() {
        SlabClass slabs = new SlabClass(SIZE, SIZE, 1);
        assertThat(slabs.take()).isNull();
        assertThat(slabs.hasAny()).isFalse();
        assertThat(slabs.mayGrow()).isTrue();
        slabs.promise();
        slabs.add(block(0, 1));
        assertThat(slabs.hasAny()).isTrue();
        assertThat(slabs.mayGrow()).isFalse();
    }

    @Test
    void threadTakesTheSlabAgainThatItGaveBackLast() {
        SlabClass slabs = slabs(3, 1);
        List<Slab> taken = takeAll(slabs);
        Slab last = taken.get(1);
        slabs.give(last);
        slabs.give(taken.get(0));
        assertThat(slabs.inUse()).isEqualTo(1);
        assertThat(slabs.take()).isSameAs(last);
    }

    @Test
    void threadTakesASlabThatAnotherThreadGaveBack() throws InterruptedException {
        SlabClass slabs = slabs(1, 1);
        Slab only = slabs.take();
        Thread.ofPlatform().start(() -> slabs.give(only)).join();
        assertThat(slabs.inUse()).isZero();
        assertThat(slabs.take()).isSameAs(only);
    }

    @Test
    void abandonedSlabIsNeitherInUseNorWaitedFor() {
        SlabClass slabs = slabs(2, 1);
        List<Slab> taken = takeAll(slabs);
        slabs.abandon();
        assertThat(slabs.inUse()).isEqualTo(1);
        assertThat(slabs.hasAny()).isTrue();
        slabs.give(taken.get(1));
        assertThat(takeAll(slabs)).containsExactly(taken.get(1));
        slabs.abandon();
        assertThat(slabs.hasAny()).isFalse();
    }

    @Test
    void trimmingRemovesOnlyBlocksThatLayIdleSinceTheLastTrim() {
        SlabClass slabs = slabs(2, 3);
        List<Slab> taken = takeAll(slabs);
        Slab kept = taken.getFirst();
        taken.stream().skip(1).forEach(slabs::give);
        assertThat(slabs.removeUnused()).as("used before the first trim").isEmpty();
        assertThat(slabs.removeUnused()).hasSize(2).doesNotContain(kept.block());
        assertThat(slabs.inUse()).isEqualTo(1);
        assertThat(takeAll(slabs)).hasSize(1).first().extracting(Slab::block).isSameAs(kept.block());
        assertThat(slabs.mayGrow()).isTrue();
    }

    @Test
    void blockAddedAfterATrimUsesTheNumbersOfTheRemovedOne() {
        SlabClass slabs = slabs(2, 2);
        assertThat(slabs.removeUnused()).hasSize(2);
        assertThat(slabs.hasAny()).isFalse();
        assertThat(slabs.take()).isNull();
        slabs.promise();
        slabs.add(block(7, 2));
        List<Slab> taken = takeAll(slabs);
        assertThat(taken).extracting(Slab::index).containsExactlyInAnyOrder(0, 1);
        assertThat(taken).extracting(slab -> slab.block().address()).containsOnly(block(7, 2).address());
    }

    @Test
    void concurrentTakersKeepEverySlabExactlyOnce() throws Exception {
        int count = 8;
        SlabClass slabs = slabs(count, 1);
        Takers takers = new Takers(slabs, count);
        try (ExecutorService threads = Executors.newFixedThreadPool(THREADS)) {
            join(takers.start(threads));
        }
        assertThat(slabs.inUse()).as(REPEAT).isZero();
        assertThat(takeAll(slabs)).as(REPEAT).hasSize(count).doesNotHaveDuplicates();
        assertThat(slabs.inUse()).as(REPEAT).isEqualTo(count);
    }

    @Test
    void blocksComeAndGoWhileThreadsTakeAndGiveBack() throws Exception {
        int blocks = 6;
        int slabsOfBlock = 2;
        SlabClass slabs = new SlabClass(SIZE, slabsOfBlock * SIZE, blocks);
        Takers takers = new Takers(slabs, blocks * slabsOfBlock);
        int added = 0;
        int removed = 0;
        try (ExecutorService threads = Executors.newFixedThreadPool(THREADS)) {
            List<Future<?>> running = takers.start(threads);
            while (running.stream().anyMatch(taker -> !taker.isDone())) {
                for (; slabs.mayGrow(); added++) {
                    SlabBlock block = block(added, slabsOfBlock);
                    takers.mapped.add(block);
                    slabs.promise();
                    slabs.add(block);
                }
                List<SlabBlock> unused = slabs.removeUnused();
                unused.forEach(takers.mapped::remove);
                removed += unused.size();
            }
            join(running);
        }
        assertThat(removed).as("blocks removed, " + REPEAT).isPositive();
        assertThat(slabs.inUse()).as(REPEAT).isZero();
        assertThat(takeAll(slabs)).as(REPEAT).hasSize((added - removed) * slabsOfBlock).doesNotHaveDuplicates();
    }

    private static void join(List<Future<?>> running) throws InterruptedException {
        for (Future<?> taker : running) {
            try {
                taker.get();
            } catch (ExecutionException e) {
                throw new AssertionError(REPEAT, e.getCause());
            }
        }
    }

    /** Threads that take and give back slabs at random, and note who has which. */
    private static final class Takers {
        private final SlabClass slabs;
        private final AtomicIntegerArray holders;

        /** Blocks that the class may cut slabs from; empty if the test removes none. */
        private final Set<SlabBlock> mapped = ConcurrentHashMap.newKeySet();

        Takers(SlabClass slabs, int most) {
            this.slabs = slabs;
            this.holders = new AtomicIntegerArray(most);
        }

        List<Future<?>> start(ExecutorService threads) {
            SplittableRandom random = new SplittableRandom(SEED);
            List<Future<?>> running = new ArrayList<>();
            for (int i = 0; i < THREADS; i++) {
                SplittableRandom own = random.split();
                running.add(threads.submit(() -> takeAndGiveBack(own)));
            }
            return running;
        }

        private void takeAndGiveBack(SplittableRandom random) {
            List<Slab> held = new ArrayList<>();
            for (int round = 0; round < ROUNDS; round++) {
                int wanted = 1 + random.nextInt(MAX_HELD);
                for (Slab slab = slabs.take(); slab != null; slab = held.size() < wanted ? slabs.take() : null) {
                    check(slab, holders.incrementAndGet(slab.index()));
                    held.add(slab);
                }
                while (!held.isEmpty()) {
                    Slab back = held.remove(random.nextInt(held.size()));
                    check(back, holders.getAndDecrement(back.index()));
                    slabs.give(back);
                }
            }
        }

        private void check(Slab slab, int holding) {
            if (holding != 1) {
                throw new AssertionError("slab " + slab.index() + " has " + holding + " holders");
            }
            if (!mapped.isEmpty() && !mapped.contains(slab.block())) {
                throw new AssertionError("slab " + slab.index() + " belongs to a removed block");
            }
        }
    }
}
