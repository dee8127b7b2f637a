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
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.testkit.Failures;
import java.lang.foreign.Arena;
import java.lang.ref.WeakReference;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The first incomplete piece in the file decides the result, whatever the order in which pieces end. */
class TransferResultTest {
    private static final long PIECE = 4096;
    private static final long SIZE = 10 * PIECE;
    private static final long OFFSET = 100;

    private static Transfer transfer() {
        return transfer(new TransferRequest());
    }

    private static Transfer transfer(TransferRequest request) {
        HostTransfer transfer = new HostTransfer(request, null);
        transfer.plan().buffered(OFFSET, SIZE, PIECE);
        transfer.begin();
        return transfer;
    }

    private static ThreadContext thread(Rig rig) {
        return thread(rig.posix(), false);
    }

    private static ThreadContext thread(Posix posix, boolean heedsInterrupts) {
        BouncePool pool = new BouncePool(posix, CuFileConfig.defaults());
        return new ThreadContext(heedsInterrupts, posix, new PathCounters(), pool, null);
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

    /** A copy of a piece may fail after its read ended early. Of two reasons with the same count the first one stays. */
    @Test
    void onlyAShorterCountReplacesTheReasonOfAPiece() {
        Transfer transfer = transfer();
        transfer.stop(2, 17, Errno.EIO);
        transfer.stop(2, 17, 0);
        transfer.stop(2, 18, Errno.ENOSPC);
        assertThat(failure(transfer).errno()).hasValue(Errno.EIO);
        assertThat(failure(transfer)).hasMessageContaining("pread");
        transfer.stop(2, 16, Errno.ENOSPC);
        assertThat(failure(transfer).errno()).hasValue(Errno.ENOSPC);
        assertThat(failure(transfer).bytesTransferred()).isEqualTo(2 * PIECE - OFFSET + 16);
    }

    @Test
    void anInterruptIsToldAsOne() {
        Transfer transfer = transfer();
        transfer.fail(1, CuFileException.builder("read").error(CuFileError.IO_ERROR).buildInterrupted());
        assertThat(failure(transfer)).isInstanceOf(CuFileInterruptedException.class);
        transfer.fail(0, CuFileException.of(CuFileError.IO_ERROR, "read", "of a source"));
        assertThat(failure(transfer)).isNotInstanceOf(CuFileInterruptedException.class);
    }

    @ParameterizedTest
    @CsvSource({"true, true", "true, false", "false, true"})
    void aThreadThatWaitsForASlabHeedsItsInterrupt(boolean heeds, boolean interrupted) {
        Transfer transfer = transfer();
        transfer.open(thread(FfmPosix.instance(), heeds));
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        boolean over = transfer.isOver();
        assertThat(Thread.interrupted()).isEqualTo(interrupted);
        assertThat(over).isEqualTo(heeds && interrupted);
        if (over) {
            assertThat(failure(transfer)).isInstanceOf(CuFileInterruptedException.class);
            assertThat(failure(transfer).bytesTransferred()).isZero();
        } else {
            assertThat(transfer.result("cuFileRead", Optional.empty())).isEqualTo(SIZE);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void onlyARequestThatHasNotBegunIsCancelled(boolean begun) {
        TransferRequest request = new TransferRequest();
        request.heed(() -> true);
        Transfer transfer = transfer(request);
        if (begun) {
            assertThat(transfer.claim(thread(FfmPosix.instance(), false))).isZero();
        }
        assertThat(transfer.isOver()).isEqualTo(!begun);
        if (!begun) {
            assertThat(failure(transfer)).isInstanceOf(CuFileInterruptedException.class);
        }
    }

    /** A worker that another transfer needs leaves every piece to others. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aThreadThatIsNeededElsewhereClaimsNothing(boolean needed) {
        Transfer transfer = transfer();
        ThreadContext worker = thread(FfmPosix.instance(), false);
        worker.leaveWhen(() -> needed);
        assertThat(transfer.claim(worker)).isEqualTo(needed ? -1 : 0);
    }

    /** What was thrown may hold anything of the program. */
    @Test
    void transfersThatHaveEndedHoldNothingThatWasThrown() {
        List<Transfer> ended = List.of(new HostTransfer(new TransferRequest(), null),
                new DeviceTransfer(new TransferRequest()), new ScatterTransfer(new TransferRequest(), null));
        for (Transfer transfer : ended) {
            transfer.plan().buffered(OFFSET, SIZE, PIECE);
            transfer.begin();
            ThreadContext caller = thread(FfmPosix.instance(), false);
            transfer.open(caller);
            assertThat(transfer.isOwner(caller)).isTrue();
            WeakReference<Throwable> thrown = failed(transfer);
            transfer.end();
            for (int i = 0; i < 100 && thrown.get() != null; i++) {
                System.gc();
            }
            assertThat(thrown.get()).as(transfer.getClass().getSimpleName()).isNull();
        }
        assertThat(ended).extracting(Transfer::usesGpu).containsExactly(false, true, false);
    }

    private static WeakReference<Throwable> failed(Transfer transfer) {
        RuntimeException thrown = new IllegalStateException();
        transfer.fail(1, thrown);
        return new WeakReference<>(thrown);
    }

    /** Two threads, of which one takes pieces from the end, race for the pieces of many transfers: of fewer where they share a processor. */
    @Test
    @Timeout(60)
    void racingThreadsClaimEachPieceOnce() throws Exception {
        int over = Integer.MAX_VALUE;
        Transfer transfer = new HostTransfer(new TransferRequest(), null);
        ThreadContext caller = thread(FfmPosix.instance(), false);
        ThreadContext helper = thread(FfmPosix.instance(), false);
        AtomicInteger claimed = new AtomicInteger();
        AtomicInteger turn = new AtomicInteger();
        AtomicInteger done = new AtomicInteger();
        Thread helping = Thread.ofPlatform().start(() -> {
            for (int round = 1; turn.get() < over; round++) {
                while (turn.get() < round) {
                    Thread.onSpinWait();
                }
                while (turn.get() < over && transfer.claim(helper) >= 0) {
                    claimed.incrementAndGet();
                }
                done.incrementAndGet();
            }
        });
        int twice = 0;
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(5);
        for (int round = 1; round <= 20_000 && System.nanoTime() < end; round++) {
            transfer.plan().buffered(0, (1 + round % 3) * PIECE, PIECE).takeFromBothEnds();
            transfer.begin();
            transfer.open(caller);
            claimed.set(0);
            turn.set(round);
            while (transfer.claim(caller) >= 0) {
                claimed.incrementAndGet();
            }
            while (done.get() < round) {
                Thread.onSpinWait();
            }
            twice += claimed.get() == 1 + round % 3 ? 0 : 1;
        }
        turn.set(over);
        helping.join();
        assertThat(twice).isZero();
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
