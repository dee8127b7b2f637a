package io.gds4j.compat.deliver;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.compat.Rig;
import io.gds4j.compat.plan.TransferRequest;
import io.gds4j.config.CuFileConfig;
import io.gds4j.engine.staging.BouncePool;
import io.gds4j.engine.statistics.PathCounters;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.testkit.Failures;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The first incomplete piece in the file decides the result, whatever the order in which pieces end. */
class TransferResultTest {
    private static final long PIECE = 4096;
    private static final long SIZE = 10 * PIECE;
    private static final long OFFSET = 100;

    private static Transfer transfer() {
        HostTransfer transfer = new HostTransfer(new TransferRequest(), null);
        transfer.plan().buffered(OFFSET, SIZE, PIECE);
        transfer.begin();
        return transfer;
    }

    private static ThreadContext thread(Rig rig) {
        BouncePool pool = new BouncePool(rig.posix(), BouncePool.Pinning.NONE, CuFileConfig.defaults());
        return new ThreadContext(false, rig.posix(), new PathCounters(), pool, null);
    }

    private static CuFileException failure(Transfer transfer) {
        return Failures.expect(() -> transfer.result("cuFileWrite", Optional.empty()));
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void firstPieceInTheFileDecidesAboutErrors(boolean inOrder) {
        Transfer transfer = transfer();
        if (inOrder) {
            transfer.stop(2, 17, Errno.EDQUOT, null);
            transfer.stop(5, 3, Errno.EIO, null);
        } else {
            transfer.stop(5, 3, Errno.EIO, null);
            transfer.stop(2, 17, Errno.EDQUOT, null);
        }
        CuFileException failure = failure(transfer);
        assertThat(failure.errno()).hasValue(Errno.EDQUOT);
        assertThat(failure.bytesTransferred()).isEqualTo(2 * PIECE - OFFSET + 17);
    }

    @Test
    void endOfTheFileBeforeAnErrorIsAShortCount() {
        Transfer transfer = transfer();
        transfer.stop(7, 0, Errno.EIO, null);
        transfer.stop(3, 1, 0, null);
        assertThat(transfer.result("cuFileRead", Optional.empty())).isEqualTo(3 * PIECE - OFFSET + 1);
    }

    @Test
    void interruptCountsThePiecesThatWereBegun() {
        try (Rig rig = Rig.onHost()) {
            Transfer transfer = transfer();
            for (int i = 0; i < 4; i++) {
                assertThat(transfer.claim(thread(rig))).isEqualTo(i);
            }
            transfer.cancel();
            assertThat(transfer.claim(thread(rig))).isEqualTo(-1);
            CuFileException failure = failure(transfer);
            assertThat(failure).isInstanceOf(CuFileInterruptedException.class);
            assertThat(failure.bytesTransferred()).isEqualTo(4 * PIECE - OFFSET);
        }
    }

    @Test
    void errorOfAPieceInFlightOutweighsTheInterrupt() {
        try (Rig rig = Rig.onHost()) {
            Transfer transfer = transfer();
            for (int i = 0; i < 4; i++) {
                assertThat(transfer.claim(thread(rig))).isEqualTo(i);
            }
            transfer.cancel();
            transfer.stop(1, 5, Errno.ENOSPC, null);
            CuFileException failure = failure(transfer);
            assertThat(failure.error()).isEqualTo(CuFileError.IO_ERROR);
            assertThat(failure.errno()).hasValue(Errno.ENOSPC);
            assertThat(failure.bytesTransferred()).isEqualTo(PIECE - OFFSET + 5);
        }
    }

    @Test
    void interruptAfterThePiecesHaveAllBeenBegunChangesNothing() {
        try (Rig rig = Rig.onHost()) {
            Transfer transfer = transfer();
            long pieces = 0;
            while (transfer.claim(thread(rig)) >= 0) {
                pieces++;
            }
            transfer.cancel();
            assertThat(pieces).isEqualTo(11);
            assertThat(transfer.result("cuFileRead", Optional.empty())).isEqualTo(SIZE);
        }
    }
}
