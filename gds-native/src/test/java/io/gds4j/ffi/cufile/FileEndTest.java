package io.gds4j.ffi.cufile;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** When a read looks for the end of the file, and when it trusts what was seen before. */
class FileEndTest {
    private static final long TRUST = FileEnd.TRUST.toNanos();

    private long size = 1000;
    private long now = Long.MAX_VALUE;
    private int looks;
    private final FileEnd end = new FileEnd(() -> {
        looks++;
        return size;
    });

    @Test
    void whatStaysBeforeAnEndThatWasSeenLatelyIsNotLookedFor() {
        assertThat(end.before(10, now)).isEqualTo(1000);
        now += TRUST - 1;
        assertThat(end.before(1000, now)).isEqualTo(1000);
        assertThat(looks).isEqualTo(1);
    }

    @Test
    void whatReachesBehindItIsLookedForEachTime() {
        end.before(0, now);
        size = 2000;
        assertThat(end.before(1001, now)).isEqualTo(2000);
        assertThat(end.before(2001, now)).isEqualTo(2000);
        assertThat(end.before(2001, now)).isEqualTo(2000);
        assertThat(looks).isEqualTo(4);
    }

    @Test
    void fileThatOthersCutIsNoticedInTime() {
        end.before(0, now);
        size = 10;
        now += TRUST;
        assertThat(end.before(500, now)).isEqualTo(10);
    }

    @Test
    void fileThatThisProcessCutsIsNoticedAtOnce() {
        end.before(0, now);
        size = 10;
        FileEnd.shrunk();
        assertThat(end.before(500, now)).isEqualTo(10);
        assertThat(end.before(5, now)).isEqualTo(10);
        assertThat(looks).isEqualTo(2);
    }

    @Test
    void endThatNobodyKnowsIsLookedForEachTime() {
        size = -1;
        assertThat(end.before(0, now)).isNegative();
        assertThat(end.before(0, now)).isNegative();
        assertThat(looks).isEqualTo(2);
    }
}
