package io.gds4j.compat.deliver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.CuFileHandle;
import io.gds4j.compat.PosixOverlay;
import io.gds4j.compat.Rig;
import io.gds4j.compat.plan.TransferRequest;
import io.gds4j.config.CuFileConfig;
import io.gds4j.engine.staging.BouncePool;
import io.gds4j.engine.statistics.PathCounters;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.testkit.Failures;
import java.lang.foreign.Arena;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
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
            transfer.stop(2, 17, Errno.EDQUOT);
            transfer.stop(5, 3, Errno.EIO);
        } else {
            transfer.stop(5, 3, Errno.EIO);
            transfer.stop(2, 17, Errno.EDQUOT);
        }
        CuFileException failure = failure(transfer);
        assertThat(failure.errno()).hasValue(Errno.EDQUOT);
        assertThat(failure.bytesTransferred()).isEqualTo(2 * PIECE - OFFSET + 17);
    }

    @Test
    void endOfTheFileBeforeAnErrorIsAShortCount() {
        Transfer transfer = transfer();
        transfer.stop(7, 0, Errno.EIO);
        transfer.stop(3, 1, 0);
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
            transfer.stop(1, 5, Errno.ENOSPC);
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

    /** The arena is open: only closing it may be called so. */
    @ParameterizedTest
    @EnumSource(names = {"HOST", "CUDA_DEVICE"})
    void defectIsNotAClosedArena(MemoryKind kind) {
        IllegalStateException defect = new IllegalStateException("a defect");
        Posix broken = PosixOverlay.of((call, arguments, kernel) -> {
            if (call.getName().equals("pread")) {
                throw defect;
            }
            return kernel.call();
        });
        try (Rig rig = Rig.onGpuOver(broken, config -> {
        });
                CuFileHandle handle = rig.open(rig.file(Rig.PIECE));
                Arena arena = Arena.ofShared()) {
            MemoryRange memory = kind == MemoryKind.HOST
                    ? MemoryRange.ofSegment(arena.allocate(Rig.PIECE, Rig.PAGE))
                    : rig.memory(kind, Rig.PIECE).range();
            assertThatThrownBy(() -> handle.read(memory, 0)).isSameAs(defect);
            assertThatThrownBy(() -> handle.readScattered(0, Rig.PIECE,
                    List.of(new ScatterCopy(0, Rig.PIECE, memory, 0)))).isSameAs(defect);
        }
    }
}
