package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileHandle;
import io.gds4j.engine.staging.PreciseSleep;
import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.FaultyPosix;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixCall;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

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
    void aThreadHasItsOwnSlackBackWhenItNoLongerWaits() {
        sleep.sleep(1);
        assertThat(real.timerSlack()).isOne();
        sleep.sleep(1);
        sleep.over();
        assertThat(real.timerSlack()).isEqualTo(CHOSEN);
        assertThat(posix.calls(PosixCall.TIMER_SLACK)).isOne();
        assertThat(posix.calls(PosixCall.SET_TIMER_SLACK)).isEqualTo(2);
    }

    @Test
    void whoNeverSleepsAsksNothing() {
        sleep.over();
        assertThat(posix.calls(PosixCall.TIMER_SLACK) + posix.calls(PosixCall.SET_TIMER_SLACK)).isZero();
    }

    @Test
    void aRefusalIsTakenOncePerWait() {
        posix.on(PosixCall.TIMER_SLACK).fails(Errno.EINVAL);
        sleep.sleep(1);
        sleep.sleep(1);
        sleep.over();
        assertThat(posix.calls(PosixCall.TIMER_SLACK)).isOne();
        assertThat(posix.calls(PosixCall.SET_TIMER_SLACK)).isZero();
    }

    @Test
    void theThreadOfAProgramKeepsItsSlack() {
        try (Rig rig = Rig.onGpu()) {
            GuardedFile file = rig.file(4 * Rig.PIECE);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, 4 * Rig.PIECE);
            try (CuFileHandle handle = rig.open(file)) {
                assertThat(handle.read(memory.range(), 4 * Rig.PIECE, 0, 0)).isEqualTo(4 * Rig.PIECE);
                assertThat(rig.posix().calls(PosixCall.SET_TIMER_SLACK)).isEqualTo(2);
                assertThat(real.timerSlack()).isEqualTo(CHOSEN);
            }
            memory.expect(0, file.expected(0, 4 * Rig.PIECE));
            memory.verify();
        }
    }
}
