package io.gds4j.compat.transfer;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileHandle;
import io.gds4j.compat.FakePageCache;
import io.gds4j.compat.Rig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.PosixCall;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.Gate;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A file whose beginning is in the page cache is read from both ends; results are those of any other read. */
class BothEndsTest {
    private static final int SIZE = 72 << 20;
    private static final int HOT = 40 << 20;

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
            rig.posix().on(PosixCall.PREAD).covering(HOT - 1).runsFirst(last::awaitArrival);
            try (CuFileHandle handle = rig.open(file)) {
                assertThat(handle.read(memory.range(), SIZE + 4096, 0, 0)).isEqualTo(SIZE);
            }
            memory.expect(0, file.expected(0, SIZE));
            memory.verify();
            assertThat(rig.reads(true).stream().mapToLong(read -> read.count()).sum()).isEqualTo(SIZE - HOT);
        }
    }

    private static void expectPrefix(GuardedMemory memory, GuardedFile file, int count) {
        memory.expect(0, file.expected(0, count));
        memory.accept(count, SIZE - count);
        memory.verify();
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
            try (CuFileHandle handle = rig.open(file)) {
                CuFileException failure = Failures.expect(() -> handle.read(memory.range(), SIZE, 0, 0));
                assertThat(Thread.interrupted()).isTrue();
                assertThat(failure).isInstanceOf(CuFileInterruptedException.class);
                assertThat(failure.bytesTransferred()).isEqualTo(11L * Rig.PIECE);
            }
            expectPrefix(memory, file, 11 * Rig.PIECE);
        }
    }

    @Test
    void anInterruptDoesNotCountWhatAWorkerReadAtTheEnd() {
        try (Rig rig = rig(1)) {
            GuardedFile file = rig.file(SIZE);
            GuardedMemory memory = rig.host(SIZE);
            Thread caller = Thread.currentThread();
            Gate worker = new Gate();
            rig.posix().on(PosixCall.PREAD).covering(SIZE - 1).runsFirst(() -> {
                worker.pass();
                while (caller.getState() != Thread.State.WAITING) {
                    Thread.onSpinWait(); // until the caller has claimed all that it will, and waits for its worker
                }
            });
            rig.posix().on(PosixCall.PREAD).covering(10L * Rig.PIECE).runsFirst(() -> {
                worker.awaitArrival();
                caller.interrupt();
                worker.open();
            });
            try (CuFileHandle handle = rig.open(file)) {
                CuFileException failure = Failures.expect(() -> handle.read(memory.range(), SIZE, 0, 0));
                assertThat(Thread.interrupted()).isTrue();
                assertThat(failure).isInstanceOf(CuFileInterruptedException.class);
                assertThat(failure.bytesTransferred()).isEqualTo(11L * Rig.PIECE);
            }
            expectPrefix(memory, file, 11 * Rig.PIECE);
        }
    }
}
