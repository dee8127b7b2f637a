package io.gds4j.ffi.cufile;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** When a read looks for the end of the file, and when it trusts what was seen before. */
class FileEndTest {
    private long size = 1000;
    private long tick = 77;
    private int looks;
    private final FileEnd end = new FileEnd(() -> {
        looks++;
        return size;
    });

    @Test
    void whatStaysBeforeAnEndThatWasSeenInTheSameTickIsNotLookedFor() {
        assertThat(end.before(10, tick)).isEqualTo(1000);
        assertThat(end.before(1000, tick)).isEqualTo(1000);
        assertThat(looks).isEqualTo(1);
    }

    @Test
    void whatReachesBehindItIsLookedForEachTime() {
        end.before(0, tick);
        size = 2000;
        assertThat(end.before(1001, tick)).isEqualTo(2000);
        assertThat(end.before(2001, tick)).isEqualTo(2000);
        assertThat(end.before(2001, tick)).isEqualTo(2000);
        assertThat(looks).isEqualTo(4);
    }

    @Test
    void fileThatOthersCutIsNoticedAtTheNextTick() {
        end.before(0, tick);
        size = 10;
        tick++;
        assertThat(end.before(500, tick)).isEqualTo(10);
    }

    @Test
    void fileThatThisProcessCutsIsNoticedAtOnce() {
        end.before(0, tick);
        size = 10;
        FileEnd.shrunk();
        assertThat(end.before(500, tick)).isEqualTo(10);
        assertThat(end.before(5, tick)).isEqualTo(10);
        assertThat(looks).isEqualTo(2);
    }

    @Test
    void endThatNobodyKnowsIsLookedForEachTime() {
        size = -1;
        assertThat(end.before(0, tick)).isNegative();
        assertThat(end.before(0, tick)).isNegative();
        assertThat(looks).isEqualTo(2);
    }

    @Test
    void withoutTicksEachLooks() {
        tick = KernelTick.NONE;
        assertThat(end.before(10, tick)).isEqualTo(1000);
        size = 5;
        assertThat(end.before(10, tick)).isEqualTo(5);
    }

    @Test
    @Timeout(60)
    void kernelTicksWithTheSystemsClock() {
        long first = KernelTick.now();
        long began = System.nanoTime();
        assertThat(first).isPositive();
        long last = first;
        while (last - first < 30_000_000) {
            long next = KernelTick.now();
            assertThat(next).isGreaterThanOrEqualTo(last);
            last = next;
        }
        // A tick is 10 ms at most.
        assertThat(last - first).isLessThan(System.nanoTime() - began + 10_000_000);
    }
}
