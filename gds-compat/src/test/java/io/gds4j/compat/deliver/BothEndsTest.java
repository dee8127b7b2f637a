package io.gds4j.compat.deliver;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileHandle;
import io.gds4j.compat.FakePageCache;
import io.gds4j.compat.Rig;
import io.gds4j.compat.plan.TransferPlan;
import io.gds4j.compat.plan.TransferRequest;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.engine.staging.BouncePool;
import io.gds4j.engine.statistics.PathCounters;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixCall;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.Gate;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import java.util.Optional;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A file whose beginning is in the page cache is read from both ends; results are those of any other read. */
class BothEndsTest {
    private static final int SIZE = 72 << 20;
    private static final int HOT = 40 << 20;

    /** A transfer of which the thread that waits and a helper claim pieces. */
    private static final class Claims {
        private final Posix posix = FfmPosix.instance();
        private final BouncePool slabs = new BouncePool(posix, CuFileConfig.defaults());
        private final ThreadContext owner = thread();
        private final ThreadContext helper = thread();
        private final Transfer transfer = new HostTransfer(new TransferRequest(), null);

        Claims(long pieces) {
            transfer.plan().buffered(100, pieces * 4096 - 200, 4096).takeFromBothEnds();
            transfer.begin();
            transfer.open(owner);
        }

        private ThreadContext thread() {
            return new ThreadContext(false, posix, new PathCounters(), slabs, null);
        }

        /** Claims a piece; -1 if there is none. The two take turns, and the one that waits has turn 0. */
        long claim(long turn) {
            return transfer.claim((turn & 1) == 0 ? owner : helper);
        }

        /** Interrupts the transfer, and returns the bytes that count. */
        long interrupt() {
            transfer.cancel();
            try {
                return transfer.result("cuFileRead", Optional.empty());
            } catch (CuFileInterruptedException e) {
                return e.bytesTransferred();
            }
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 8, 9})
    void everyPieceHasItsTurn(long pieces) {
        Claims claims = new Claims(pieces);
        assertThat(claims.transfer.pieces()).isEqualTo(pieces);
        assertThat(LongStream.range(0, pieces).map(claims::claim).boxed())
                .containsExactlyInAnyOrderElementsOf(LongStream.range(0, pieces).boxed().toList());
        assertThat(LongStream.range(0, 4).map(claims::claim).boxed()).containsOnly(-1L);
    }

    @ParameterizedTest
    @CsvSource({"9, 0, 0", "9, 1, 1", "9, 2, 1", "9, 3, 2", "9, 8, 4", "9, 9, 9", "2, 1, 1", "2, 2, 2"})
    void piecesFromTheEndCountOnceTheGapIsClosed(long pieces, long turns, long taken) {
        Claims claims = new Claims(pieces);
        LongStream.range(0, turns).forEach(claims::claim);
        TransferPlan plan = claims.transfer.plan();
        assertThat(claims.interrupt()).isEqualTo(taken == 0 ? 0 : plan.pieceEnd(taken - 1) - plan.offset());
    }

    /** A helper claims the last of four pieces and meets {@code errno} there; the owner claims the first one and is interrupted. */
    @ParameterizedTest
    @ValueSource(ints = {0, Errno.EIO})
    void anInterruptCountsNoGapBeforeAPieceThatEndedEarly(int errno) {
        Claims claims = new Claims(4);
        assertThat(claims.claim(1)).isEqualTo(3);
        claims.transfer.stop(3, 10, errno);
        assertThat(claims.claim(0)).isZero();
        assertThat(claims.interrupt()).isEqualTo(claims.transfer.plan().pieceEnd(0) - claims.transfer.plan().offset());
    }

    /** A thread may claim a piece just when the interrupt ends the request before it. */
    @Test
    void anInterruptOutweighsThePieceBeforeWhichItEnds() {
        Claims claims = new Claims(4);
        assertThat(claims.claim(0)).isZero();
        claims.transfer.cancel();
        claims.transfer.stop(1, 10, Errno.EIO);
        assertThat(claims.interrupt()).isEqualTo(claims.transfer.plan().pieceEnd(0) - claims.transfer.plan().offset());
    }

    @Test
    void anInterruptBehindAPieceThatEndedEarlyChangesNothing() {
        Claims claims = new Claims(4);
        LongStream.of(0, 0, 1).forEach(claims::claim);
        claims.transfer.stop(1, 10, 0);
        assertThat(claims.interrupt())
                .isEqualTo(claims.transfer.plan().pieceEnd(0) - claims.transfer.plan().offset() + 10);
    }

    /** A thread that waits for a slab leaves then. */
    @Test
    void nothingIsLeftToClaimAfterAnInterrupt() {
        Claims claims = new Claims(9);
        LongStream.of(0, 1).forEach(claims::claim);
        assertThat(claims.transfer.isOver()).isFalse();
        claims.transfer.cancel();
        assertThat(claims.transfer.isOver()).isTrue();
        assertThat(LongStream.range(0, 4).map(claims::claim).boxed()).containsOnly(-1L);
    }

    @Test
    void aNewPlanForgetsTheOrderOfTheLast() {
        Claims claims = new Claims(9);
        claims.transfer.plan().buffered(0, 8192, 4096);
        claims.transfer.begin();
        assertThat(LongStream.of(1, 1).map(claims::claim).boxed()).containsExactly(0L, 1L);
    }

    private static Rig rig(int workers) {
        return Rig.onGpuOver(FakePageCache.ofFirst(HOT).posix(), builder -> builder
                .set(CuFileKeys.FORCE_ODIRECT_MODE, false)
                .set(CuFileKeys.MAX_IO_THREADS, (long) workers).set(CuFileKeys.MAX_REQUEST_PARALLELISM, workers + 1L));
    }

    @ParameterizedTest
    @EnumSource(names = {"HOST", "CUDA_DEVICE"})
    void eachHalfComesFromItsPlaceAlsoInRequestsBeyondTheEnd(MemoryKind kind) {
        try (Rig rig = rig(3)) {
            GuardedFile file = rig.file(SIZE);
            GuardedMemory memory = rig.memory(kind, SIZE + 4096);
            Gate last = new Gate();
            last.open();
            rig.posix().on(PosixCall.PREAD).covering(SIZE - 1).runsFirst(last::pass);
            rig.posix().on(PosixCall.PREAD).covering(Rig.PIECE).runsFirst(last::awaitArrival);
            try (CuFileHandle handle = rig.open(file)) {
                assertThat(handle.read(memory.range(), SIZE + 4096, 0, 0)).isEqualTo(SIZE);
            }
            memory.expect(0, file.expected(0, SIZE));
            memory.verify();
            assertThat(rig.reads(true).stream().mapToLong(read -> read.count()).sum()).isEqualTo(SIZE - HOT);
            assertThat(rig.reads(true)).as("a read of the disk is among the first").first()
                    .satisfies(read -> assertThat(rig.posix().io().indexOf(read)).isLessThan(8));
        }
    }

    private static void expectPrefix(GuardedMemory memory, GuardedFile file, int count) {
        memory.expect(0, file.expected(0, count));
        memory.accept(count, (int) memory.range().length() - count);
        memory.verify();
    }

    private static void expectInterruptAfter(int count, Rig rig, GuardedFile file, GuardedMemory memory) {
        try (CuFileHandle handle = rig.open(file)) {
            CuFileException failure =
                    Failures.expect(() -> handle.read(memory.range(), memory.range().length(), 0, 0));
            assertThat(Thread.interrupted()).isTrue();
            assertThat(failure).isInstanceOf(CuFileInterruptedException.class);
            assertThat(failure.bytesTransferred()).isEqualTo(count);
        }
        expectPrefix(memory, file, count);
    }

    @Test
    void anErrorInTheMiddleEndsTheCountThere() {
        try (Rig rig = rig(0)) {
            GuardedFile file = rig.file(SIZE);
            GuardedMemory memory = rig.host(SIZE);
            long broken = HOT + 8L * Rig.PIECE;
            rig.posix().on(PosixCall.PREAD).covering(broken).always().fails(Errno.EIO);
            try (CuFileHandle handle = rig.open(file)) {
                CuFileException failure = Failures.expect(() -> handle.read(memory.range(), SIZE, 0, 0));
                assertThat(failure.errno()).hasValue(Errno.EIO);
                assertThat(failure.bytesTransferred()).isEqualTo(broken);
            }
            expectPrefix(memory, file, (int) broken);
        }
    }

    @Test
    void anInterruptCountsWhatIsThereFromTheFirstByteOn() {
        try (Rig rig = rig(0)) {
            GuardedFile file = rig.file(SIZE);
            GuardedMemory memory = rig.host(SIZE);
            rig.posix().on(PosixCall.PREAD).covering(10L * Rig.PIECE)
                    .runsFirst(() -> Thread.currentThread().interrupt());
            expectInterruptAfter(11 * Rig.PIECE, rig, file, memory);
        }
    }

    /** @param beyond bytes of the request behind the end of the file: a worker meets the end first then */
    @ParameterizedTest
    @CsvSource({"HOST, 0", "HOST, 65536", "CUDA_DEVICE, 65536"})
    void anInterruptDoesNotCountWhatAWorkerReadAtTheEnd(MemoryKind kind, int beyond) {
        try (Rig rig = rig(1)) {
            GuardedFile file = rig.file(SIZE);
            GuardedMemory memory = rig.memory(kind, SIZE + beyond);
            Thread caller = Thread.currentThread();
            Gate worker = new Gate();
            rig.posix().on(PosixCall.PREAD).covering(SIZE - 1).runsFirst(() -> {
                worker.pass();
                while (caller.getState() != Thread.State.WAITING
                        && caller.getState() != Thread.State.TIMED_WAITING) {
                    Thread.onSpinWait(); // until the caller has claimed all that it will, and waits for its worker
                }
            });
            rig.posix().on(PosixCall.PREAD).covering(10L * Rig.PIECE).runsFirst(() -> {
                worker.awaitArrival();
                caller.interrupt();
                worker.open();
            });
            expectInterruptAfter(11 * Rig.PIECE, rig, file, memory);
        }
    }
}
