package io.gds4j.ffi.cufile;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.config.SizeParameter;
import io.gds4j.error.CuFileError;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Where the library counts: its counters change their level once and are started once, since it crashes of more. */
class LibraryStatisticsRulesTest extends SessionRig {
    @Override
    FakeMachine machine() {
        return FakeMachine.withStatisticsOfTheLibrary();
    }

    @Test
    void configuredLevelIsTheLibrarys() {
        backend.driverClose();
        backend.setParameterSizeT(SizeParameter.PROFILE_STATS, 2);
        backend.driverOpen();
        assertThat(fake.driver().json()).contains("\"cufile_stats\": 2");
        assertThat(backend.getStatsLevel()).isEqualTo(2);
        assertThat(fake.callsOf("cuFileSetStatsLevel")).last().isEqualTo("cuFileSetStatsLevel(3)");
    }

    @Test
    void levelZeroNeverReachesTheLibrary() {
        backend.setStatsLevel(0);
        backend.statsStart();
        backend.statsStop();
        assertThat(fake.callsOf("cuFileSetStatsLevel")).isEmpty();
        assertThat(fake.callsOf("cuFileStatsStart")).isEmpty();
        assertThat(fake.callsOf("cuFileStatsStop")).isEmpty();
    }

    @Test
    void startBeforeALevelIsSetBeginsWithIt() {
        backend.statsStart();
        assertThat(fake.callsOf("cuFileStatsStart")).isEmpty();
        backend.setStatsLevel(1);
        assertThat(fake.callsOf("cuFileStatsStart")).hasSize(1);
        backend.setStatsLevel(2);
        assertThat(fake.callsOf("cuFileStatsStart")).hasSize(1);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 3})
    void lowerLevelAnswersNoHigherQuestion(int level) {
        backend.setStatsLevel(3);
        backend.statsStart();
        backend.setStatsLevel(level);
        assertThat(backend.getStatsLevel()).isEqualTo(level);
        answers(level >= 1, backend::getStatsL1);
        answers(level >= 2, backend::getStatsL2);
        answers(level >= 3, backend::getStatsL3);
        assertThat(fake.callsOf("cuFileSetStatsLevel")).hasSize(1);
    }

    private static void answers(boolean answered, Runnable question) {
        if (answered) {
            question.run();
        } else {
            expect(CuFileError.INVALID_VALUE, question::run);
        }
    }

    @Test
    void stoppedCountersStayAsTheyWereUntilTheyGoOn() {
        backend.setStatsLevel(3);
        backend.statsStart();
        fake.driver().countUpTo(100);
        backend.statsStop();
        var stopped = backend.getStatsL3();
        fake.driver().countUpTo(500);
        assertThat(backend.getStatsL3()).isEqualTo(stopped);
        assertThat(backend.getStatsL2()).isEqualTo(stopped.detailed());
        assertThat(backend.getStatsL1()).isEqualTo(stopped.detailed().basic());
        backend.statsStart();
        assertThat(backend.getStatsL3()).isNotEqualTo(stopped);
        assertThat(fake.callsOf("cuFileStatsStart")).hasSize(1);
        assertThat(fake.callsOf("cuFileStatsStop")).isEmpty();
    }

    @Test
    void resettingAlsoForgetsWhatWasStopped() {
        backend.setStatsLevel(1);
        backend.statsStart();
        fake.driver().countUpTo(100);
        backend.statsStop();
        var stopped = backend.getStatsL1();
        fake.driver().countUpTo(0);
        backend.statsReset();
        assertThat(fake.callsOf("cuFileStatsReset")).hasSize(1);
        assertThat(backend.getStatsL1()).isNotEqualTo(stopped);
    }

    @Test
    void sessionsShareTheCounters() throws InterruptedException {
        LibCuFileBackend other = machine.backend();
        other.driverOpen();
        CountDownLatch go = new CountDownLatch(1);
        Thread thread = Thread.ofPlatform().start(() -> {
            await(go);
            for (int level = 0; level < 1000; level++) {
                other.setStatsLevel(level % 4);
                other.statsStart();
                other.statsStop();
            }
        });
        go.countDown();
        for (int level = 0; level < 1000; level++) {
            backend.setStatsLevel(level % 4);
            backend.statsStop();
            backend.statsStart();
            backend.statsReset();
        }
        thread.join();
        assertThat(fake.callsOf("cuFileSetStatsLevel")).hasSize(1);
        assertThat(fake.callsOf("cuFileStatsStart")).hasSize(1);
        other.driverClose();
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** The library keeps its level over a close: 42 of 42 openings of a process set counters up that nobody had asked for. */
    @Test
    void nextOpeningDoesNotCountUnlessItIsAskedTo() {
        backend.setStatsLevel(3);
        backend.statsStart();
        backend.driverClose();
        backend.setStatsLevel(0);
        backend.driverOpen();
        assertThat(fake.driver().statsLevelAtOpen()).isZero();
        assertThat(backend.getStatsLevel()).isZero();
    }

    @Test
    void nextOpeningCountsAgain() {
        backend.setStatsLevel(1);
        backend.statsStart();
        backend.driverClose();
        backend.driverOpen();
        backend.setStatsLevel(1);
        backend.statsStart();
        assertThat(fake.callsOf("cuFileStatsStart")).hasSize(2);
    }
}
