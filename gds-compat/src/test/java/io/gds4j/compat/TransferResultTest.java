package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.config.CuFileConfig;
import io.gds4j.engine.statistics.PathCounters;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.testkit.Failures;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Of several pieces that moved less than asked, the first in the file decides, whenever it ended. */
class TransferResultTest {
    private static final long PIECE = 4096;
    private static final long SIZE = 10 * PIECE;
    private static final long OFFSET = 100;

    private static Transfer transfer(Rig rig) {
        HostTransfer transfer = new HostTransfer(new PieceIo(rig.posix(), new PathCounters()));
        transfer.plan().buffered(OFFSET, SIZE, PIECE);
        FilePair.Key key = new FilePair.Key(new FileKey(0, 0, 1), PosixConstants.O_RDWR, 0);
        FileTraits traits = new FileTraits(false, 0, PIECE, false, false, false);
        transfer.begin(new FilePair(rig.posix(), key, traits, -1, 0, new RangeLocks()), 1);
        return transfer;
    }

    private static Lane lane(Rig rig) {
        BouncePool pool = new BouncePool(rig.posix(), BouncePool.Pinning.NONE, CuFileConfig.defaults());
        PathCounters counters = new PathCounters();
        RingTransfers rings = new RingTransfers(new IoUringUse(rig.posix(), false), counters);
        return new Lane(false, rig.posix(), new PieceIo(rig.posix(), counters), pool, null, rings);
    }

    private static CuFileException failure(Transfer transfer) {
        return Failures.expect(() -> transfer.result("cuFileWrite", Optional.empty()));
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void firstPieceInTheFileDecidesAboutErrors(boolean inOrder) {
        try (Rig rig = Rig.onHost()) {
            Transfer transfer = transfer(rig);
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
    }

    @Test
    void endOfTheFileBeforeAnErrorIsAShortCount() {
        try (Rig rig = Rig.onHost()) {
            Transfer transfer = transfer(rig);
            transfer.stop(7, 0, Errno.EIO, null);
            transfer.stop(3, 1, 0, null);
            assertThat(transfer.result("cuFileRead", Optional.empty())).isEqualTo(3 * PIECE - OFFSET + 1);
        }
    }

    @Test
    void interruptCountsThePiecesThatWereBegun() {
        try (Rig rig = Rig.onHost()) {
            Transfer transfer = transfer(rig);
            for (int i = 0; i < 4; i++) {
                assertThat(transfer.claim(lane(rig))).isEqualTo(i);
            }
            transfer.cancel();
            assertThat(transfer.claim(lane(rig))).isEqualTo(-1);
            CuFileException failure = failure(transfer);
            assertThat(failure).isInstanceOf(CuFileInterruptedException.class);
            assertThat(failure.bytesTransferred()).isEqualTo(4 * PIECE - OFFSET);
        }
    }

    @Test
    void errorAmongThePiecesThatAnInterruptWaitedForIsTheErrorOfTheRequest() {
        try (Rig rig = Rig.onHost()) {
            Transfer transfer = transfer(rig);
            for (int i = 0; i < 4; i++) {
                assertThat(transfer.claim(lane(rig))).isEqualTo(i);
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
            Transfer transfer = transfer(rig);
            long pieces = 0;
            while (transfer.claim(lane(rig)) >= 0) {
                pieces++;
            }
            transfer.cancel();
            assertThat(pieces).isEqualTo(11);
            assertThat(transfer.result("cuFileRead", Optional.empty())).isEqualTo(SIZE);
        }
    }
}
