package io.gds4j.engine.staging;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.FaultyPosix;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixCall;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The timer slack of a thread before, during and after a wait. */
class PreciseSleepTest {
    private static final int CHOSEN = 123_456;

    private final Posix real = FfmPosix.instance();
    private final int before = real.timerSlack();
    private final FaultyPosix posix = new FaultyPosix(real);
    private final PreciseSleep sleep = new PreciseSleep(posix);

    @BeforeEach
    void chooseASlack() {
        assertThat(real.setTimerSlack(CHOSEN)).isZero();
    }

    @AfterEach
    void restore() {
        real.setTimerSlack(before);
    }

    @Test
    void threadHasItsTimerSlackBackAfterTheWait() {
        sleep.sleep(1);
        assertThat(real.timerSlack()).isOne();
        sleep.sleep(1);
        sleep.over();
        assertThat(real.timerSlack()).isEqualTo(CHOSEN);
        assertThat(posix.calls(PosixCall.TIMER_SLACK)).isOne();
        assertThat(posix.calls(PosixCall.SET_TIMER_SLACK)).isEqualTo(2);
    }

    @Test
    void waitWithoutSleepAsksNothing() {
        sleep.over();
        assertThat(posix.calls(PosixCall.TIMER_SLACK) + posix.calls(PosixCall.SET_TIMER_SLACK)).isZero();
    }

    @Test
    void refusalIsMetOncePerWait() {
        posix.on(PosixCall.TIMER_SLACK).fails(Errno.EINVAL);
        sleep.sleep(1);
        sleep.sleep(1);
        sleep.over();
        assertThat(posix.calls(PosixCall.TIMER_SLACK)).isOne();
        assertThat(posix.calls(PosixCall.SET_TIMER_SLACK)).isZero();
    }
}
