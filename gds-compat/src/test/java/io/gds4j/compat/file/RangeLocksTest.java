package io.gds4j.compat.file;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which writes of one file wait for each other, and in which order they get their turn. */
@Timeout(60)
class RangeLocksTest {
    private static final long PAGE = 4096;
    private static final long UNIT = PAGE / 2;
    private static final long SEED = Long.getLong("gds4j.property.seed", System.nanoTime());

    private final RangeLocks locks = new RangeLocks(PAGE);

    /** Acquires the range of a write that is drawn as in the table below. */
    private RangeLocks.Hold tryAcquire(String drawn) {
        int from = drawn.lastIndexOf('.') + 1;
        boolean direct = drawn.indexOf('s') >= 0;
        int sharedFrom = direct ? drawn.indexOf('s') : from;
        int sharedTo = direct ? drawn.lastIndexOf('s') + 1 : from;
        return locks.tryAcquire(from * UNIT, drawn.length() * UNIT, sharedFrom * UNIT, sharedTo * UNIT);
    }

    /** The ranges of two writes, in units of half a page: {@code s} shared, {@code x} exclusive, {@code .} before the write. */
    @ParameterizedTest(name = "{0}")
    @CsvSource(delimiter = '|', value = {
            "both shared and equal               | ..ssss    | ..ssss           | false",
            "both shared and overlapping         | ssss      | ..ssss           | false",
            "both shared and adjacent            | ss        | ..ss             | false",
            "both shared and disjoint            | ss        | ......ss         | false",
            "both exclusive and equal            | ..xxxx    | ..xxxx           | true",
            "both exclusive and overlapping      | xxxx      | ..xxxx           | true",
            "both exclusive in one page          | x         | .x               | true",
            "both exclusive and adjacent         | xx        | ..xx             | false",
            "both exclusive and disjoint         | xx        | ........x        | false",
            "shared equal to exclusive           | ..ssss    | ..xxxx           | true",
            "shared overlapping exclusive        | ssss      | ..xxxx           | true",
            "shared inside exclusive             | xxxxxxxx  | ..ss             | true",
            "exclusive inside shared             | ssssssss  | ..xx             | true",
            "shared adjacent to exclusive        | xx        | ..ss             | false",
            "shared disjoint from exclusive      | xx        | ........ss       | false",
            "an exclusive edge in a shared range | .xssssss  | ssss             | true",
            "an exclusive edge before one        | .xssssss  | ..ss             | false",
            "two exclusive edges in one page     | ssssx     | .....xss         | true",
            "edges in adjacent pages             | ssx       | .....xss         | false",
            "direct parts across an edge         | ssssssssx | .......xssssssss | true"
    })
    void conflictDependsOnRangesAndNotOnTheirOrder(String name, String one, String other, boolean conflict) {
        RangeLocks.Hold first = tryAcquire(one);
        RangeLocks.Hold second = tryAcquire(other);
        assertThat(second == null).as("the second waits").isEqualTo(conflict);
        locks.release(first);
        if (second == null) {
            second = tryAcquire(other);
        }
        first = tryAcquire(one);
        assertThat(first == null).as("the first waits").isEqualTo(conflict);
        locks.release(second);
    }

    @Test
    void rangeAtTheEndOfTheLargestFileIsLocked() {
        RangeLocks.Hold end = locks.tryAcquire(Long.MAX_VALUE - 10, Long.MAX_VALUE, 0, 0);
        assertThat(end).isNotNull();
        assertThat(locks.tryAcquire(Long.MAX_VALUE - 1, Long.MAX_VALUE, 0, 0)).isNull();
        assertThat(locks.tryAcquire(0, PAGE, 0, 0)).isNotNull();
        locks.release(end);
    }

    /** Acquires a range in a thread of its own. The thread waits in the queue when the constructor returns. */
    private final class Waiter {
        final CompletableFuture<RangeLocks.Hold> hold = new CompletableFuture<>();
        final CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
        final Thread thread;

        Waiter(long from, long to, boolean interruptible) {
            thread = Thread.ofPlatform().daemon().start(() -> {
                RangeLocks.Hold got = locks.acquire(from, to, from, from, interruptible);
                interrupted.complete(Thread.currentThread().isInterrupted());
                hold.complete(got);
            });
            while (thread.getState() != Thread.State.WAITING) {
                Thread.onSpinWait();
            }
        }
    }

    @Test
    void largeWriteGetsItsTurnBeforeLaterSmallOnes() {
        RangeLocks.Hold small = locks.tryAcquire(0, PAGE, 0, 0);
        Waiter large = new Waiter(0, 100 * PAGE, false);
        assertThat(locks.tryAcquire(50 * PAGE, 51 * PAGE, 0, 0)).as("a later one").isNull();
        Waiter later = new Waiter(50 * PAGE, 51 * PAGE, false);
        RangeLocks.Hold beside = locks.tryAcquire(100 * PAGE, 101 * PAGE, 0, 0);
        assertThat(beside).as("one that conflicts with none").isNotNull();
        locks.release(beside);

        locks.release(small);
        RangeLocks.Hold whole = large.hold.join();
        assertThat(later.hold).isNotDone();
        locks.release(whole);
        locks.release(later.hold.join());
        assertThat(locks.tryAcquire(0, 500 * PAGE, 0, 0)).as("everything is free again").isNotNull();
    }

    @Test
    void waiterWaitsForAllThatConflict() {
        RangeLocks.Hold left = locks.tryAcquire(0, PAGE, 0, 0);
        RangeLocks.Hold right = locks.tryAcquire(PAGE, 2 * PAGE, 0, 0);
        Waiter both = new Waiter(0, 2 * PAGE, false);
        locks.release(left);
        assertThat(locks.tryAcquire(0, PAGE, 0, 0)).isNull();
        assertThat(both.hold).isNotDone();
        locks.release(right);
        locks.release(both.hold.join());
    }

    @Test
    void interruptEndsTheWaitAndLetsLaterWritesPass() {
        RangeLocks.Hold held = locks.tryAcquire(0, PAGE, 0, 0);
        Waiter large = new Waiter(0, 100 * PAGE, true);
        Waiter later = new Waiter(50 * PAGE, 51 * PAGE, false);
        large.thread.interrupt();
        assertThat(large.hold.join()).isNull();
        assertThat(large.interrupted.join()).as("flag").isTrue();
        locks.release(later.hold.join());
        locks.release(held);
        assertThat(locks.tryAcquire(0, 500 * PAGE, 0, 0)).isNotNull();
    }

    @Test
    void interruptDoesNotEndAWaitThatIsNotInterruptible() {
        RangeLocks.Hold held = locks.tryAcquire(0, PAGE, 0, 0);
        Waiter other = new Waiter(0, PAGE, false);
        other.thread.interrupt();
        locks.release(held);
        assertThat(other.hold.join()).isNotNull();
        assertThat(other.interrupted.join()).as("flag").isTrue();
    }

    @Test
    void uncontendedLocksAllocateNothing() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        locks.release(locks.acquire(0, PAGE, 0, 0, true));
        long fewest = Long.MAX_VALUE;
        for (int round = 0; round < 20 && fewest > 0; round++) {
            long before = threads.getCurrentThreadAllocatedBytes();
            for (int i = 0; i < 10_000; i++) {
                locks.release(locks.acquire(i * 100L, i * 100L + 5000, 0, 0, true));
            }
            fewest = Math.min(fewest, threads.getCurrentThreadAllocatedBytes() - before);
        }
        assertThat(fewest).as("bytes for 10,000 locks").isLessThan(1000);
    }

    @Test
    void manyThreadsNeverHoldConflictingPages() {
        int pages = 16;
        AtomicIntegerArray holders = new AtomicIntegerArray(pages);
        List<Thread> threads = new ArrayList<>();
        List<CompletableFuture<Void>> results = new ArrayList<>();
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(5);
        for (int t = 0; t < 8; t++) {
            Random random = new Random(SEED + t);
            CompletableFuture<Void> result = new CompletableFuture<>();
            results.add(result);
            threads.add(Thread.ofPlatform().daemon().start(() -> {
                try {
                    for (int i = 0; i < 5_000 && System.nanoTime() < end; i++) {
                        int from = random.nextInt(pages);
                        int to = from + 1 + random.nextInt(pages - from);
                        RangeLocks.Hold hold = locks.acquire(from * PAGE, to * PAGE, 0, 0, false);
                        for (int page = from; page < to; page++) {
                            assertThat(holders.incrementAndGet(page)).as("-Dgds4j.property.seed=" + SEED).isEqualTo(1);
                        }
                        for (int page = from; page < to; page++) {
                            holders.decrementAndGet(page);
                        }
                        locks.release(hold);
                    }
                    result.complete(null);
                } catch (Throwable e) {
                    result.completeExceptionally(e);
                }
            }));
        }
        results.forEach(CompletableFuture::join);
    }
}
