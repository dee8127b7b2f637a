package io.gds4j.compat.deliver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.entry;

import io.gds4j.CuFileHandle;
import io.gds4j.compat.Rig;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.PosixCall;
import io.gds4j.ffi.posix.PosixFault;
import io.gds4j.memory.MemoryKind;
import io.gds4j.statistics.IoPath;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** System calls that move less than asked, are interrupted, or fail halfway. */
class PartialProgressTest {
    private static final int SIZE = 5 * Rig.PIECE + 1234;

    private static void readWhole(CuFileHandle handle, GuardedFile file, GuardedMemory memory) {
        assertThat(handle.read(memory.range(), SIZE, 0, 0)).isEqualTo(file.expected(0, SIZE).length);
        memory.expect(0, file.expected(0, SIZE));
        memory.verify();
    }

    private static void writeWhole(CuFileHandle handle, GuardedFile file, GuardedMemory memory) {
        assertThat(handle.write(memory.range(), SIZE, 0, 0)).isEqualTo(SIZE);
        file.expectWrite(0, memory.expected(0, SIZE));
        file.verify();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 512, 4096, 4097})
    void shortReadsAreContinuedUntilAllIsThere(int atMost) {
        try (Rig rig = Rig.onHost()) {
            GuardedFile file = rig.file(SIZE);
            PosixFault fault = rig.posix().on(PosixCall.PREAD).times(50).isShort(atMost);
            try (CuFileHandle handle = rig.open(file)) {
                readWhole(handle, file, rig.host(SIZE));
            }
            assertThat(fault.hits()).isPositive();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 512, 4096, 4097})
    void shortWritesAreContinuedUntilAllIsWritten(int atMost) {
        try (Rig rig = Rig.onHost()) {
            GuardedFile file = rig.file(100);
            PosixFault fault = rig.posix().on(PosixCall.PWRITE).times(50).isShort(atMost);
            try (CuFileHandle handle = rig.open(file)) {
                writeWhole(handle, file, rig.host(SIZE));
            }
            assertThat(fault.hits()).isPositive();
        }
    }

    /** The rest is not aligned: where it went direct, too, the kernel would refuse it, and with it all direct I/O of the file. */
    @ParameterizedTest
    @CsvSource({"PREAD, HOST", "PWRITE, HOST", "PREAD, CUDA_DEVICE", "PWRITE, CUDA_DEVICE"})
    void requestsStayDirectAfterAShortOne(PosixCall call, MemoryKind kind) {
        try (Rig rig = Rig.onGpu()) {
            GuardedFile file = rig.file(2 * Rig.PIECE);
            GuardedMemory memory = rig.memory(kind, 2 * Rig.PIECE);
            PosixFault fault = rig.posix().on(call).direct().isShort(100);
            try (CuFileHandle handle = rig.open(file)) {
                for (int round = 0; round < 2; round++) {
                    if (call == PosixCall.PREAD) {
                        assertThat(handle.read(memory.range(), 0)).isEqualTo(2 * Rig.PIECE);
                        memory.expect(0, file.expected(0, 2 * Rig.PIECE));
                    } else {
                        assertThat(handle.write(memory.range(), 0)).isEqualTo(2 * Rig.PIECE);
                        file.expectWrite(0, memory.expected(0, 2 * Rig.PIECE));
                    }
                }
                assertThat(handle.ioPath().path()).isEqualTo(IoPath.COMPAT_DIRECT);
            }
            memory.verify();
            file.verify();
            assertThat(fault.hits()).isOne();
            assertThat(rig.driver().bytesByPath()).containsOnly(
                    entry(IoPath.COMPAT_BUFFERED, Rig.PIECE - 100L), entry(IoPath.COMPAT_DIRECT, 3L * Rig.PIECE + 100));
        }
    }

    @ParameterizedTest
    @CsvSource({"PREAD, HOST", "PWRITE, HOST", "PREAD, CUDA_DEVICE", "PWRITE, CUDA_DEVICE"})
    void pieceThatFindsNoMemoryFailsItsRequest(PosixCall call, MemoryKind kind) {
        try (Rig rig = Rig.onGpu();
                CuFileHandle handle = rig.open(rig.file(SIZE))) {
            rig.posix().on(call).covering(2L * Rig.PIECE + 5).runsFirst(() -> {
                throw new OutOfMemoryError("Java heap space");
            });
            GuardedMemory memory = rig.memory(kind, SIZE);
            assertThatThrownBy(() -> {
                if (call == PosixCall.PREAD) {
                    handle.read(memory.range(), SIZE, 0, 0);
                } else {
                    handle.write(memory.range(), SIZE, 0, 0);
                }
            }).isInstanceOf(OutOfMemoryError.class);
            assertThat(handle.read(memory.range(), SIZE, 0, 0)).isEqualTo(SIZE);
        }
    }

    @Test
    void nothingReadIsTheEndOfTheFile() {
        try (Rig rig = Rig.onHost();
                CuFileHandle handle = rig.open(rig.file(SIZE))) {
            rig.posix().on(PosixCall.PREAD).covering(2L * Rig.PIECE + 5).isShort(0);
            GuardedMemory memory = rig.host(SIZE);
            assertThat(handle.read(memory.range(), SIZE, 0, 0)).isEqualTo(2L * Rig.PIECE);
        }
    }

    @Test
    void nothingWrittenIsAnErrorAndNoEndlessLoop() {
        try (Rig rig = Rig.onHost()) {
            GuardedFile file = rig.file(SIZE);
            rig.posix().on(PosixCall.PWRITE).covering(2L * Rig.PIECE + 5).isShort(0);
            try (CuFileHandle handle = rig.open(file)) {
                GuardedMemory memory = rig.host(SIZE);
                CuFileException failure = Failures.expect(
                        CuFileError.IO_ERROR, Errno.EIO, () -> handle.write(memory.range(), SIZE, 0, 0));
                assertThat(failure.bytesTransferred()).isEqualTo(2L * Rig.PIECE);
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"PREAD, 1", "PREAD, 3", "PWRITE, 1", "PWRITE, 3"})
    void interruptedCallsAreRepeatedAndNeverSeen(PosixCall call, int times) {
        try (Rig rig = Rig.onHost()) {
            GuardedFile file = rig.file(SIZE);
            PosixFault direct = rig.posix().on(call).direct().times(times).fails(Errno.EINTR);
            PosixFault buffered = rig.posix().on(call).buffered().times(times).fails(Errno.EINTR);
            try (CuFileHandle handle = rig.open(file)) {
                GuardedMemory memory = rig.host(SIZE);
                if (call == PosixCall.PREAD) {
                    readWhole(handle, file, memory);
                } else {
                    writeWhole(handle, file, memory);
                }
            }
            assertThat(direct.hits()).isEqualTo(times);
            assertThat(buffered.hits()).isEqualTo(times);
            assertThat(rig.driver().statistics().engine().retries()).isEqualTo(2L * times);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 4095, 4096, 65_535, 65_536, 150_000, SIZE - 1})
    void errorAfterProgressTellsTheContiguousCountAndTheErrno(int at) {
        for (PosixCall call : new PosixCall[]{PosixCall.PREAD, PosixCall.PWRITE}) {
            try (Rig rig = Rig.onHost()) {
                GuardedFile file = rig.file(SIZE);
                GuardedMemory memory = rig.host(SIZE);
                rig.posix().on(call).covering(at).always().fails(Errno.EIO);
                try (CuFileHandle handle = rig.open(file)) {
                    CuFileException failure = Failures.expect(CuFileError.IO_ERROR, Errno.EIO, () -> {
                        if (call == PosixCall.PREAD) {
                            handle.read(memory.range(), SIZE, 0, 0);
                        } else {
                            handle.write(memory.range(), SIZE, 0, 0);
                        }
                    });
                    int count = (int) failure.bytesTransferred();
                    assertThat(count).isLessThanOrEqualTo(at).isGreaterThan(at - Rig.PIECE - 1);
                    assertThat(failure.path()).contains(file.path());
                    assertThat(failure.fileOffset()).hasValue(0);
                    assertThat(failure.size()).hasValue(SIZE);
                    checkPrefix(call, file, memory, count);

                    rig.posix().heal();
                    if (call == PosixCall.PREAD) {
                        readWhole(handle, file, memory);
                    } else {
                        writeWhole(handle, file, memory);
                    }
                }
            }
        }
    }

    private static void checkPrefix(PosixCall call, GuardedFile file, GuardedMemory memory, int count) {
        if (call == PosixCall.PREAD) {
            memory.expect(0, file.expected(0, count));
            memory.verify();
        } else {
            file.expectWrite(0, memory.expected(0, count));
            file.verify();
        }
    }

    @Test
    void parallelPiecesCountOnlyWhatHasNoGapBefore() {
        for (PosixCall call : new PosixCall[]{PosixCall.PREAD, PosixCall.PWRITE}) {
            try (Rig rig = Rig.withWorkers()) {
                GuardedFile file = rig.file(SIZE);
                GuardedMemory memory = rig.host(SIZE);
                int at = 2 * Rig.PIECE + 17;
                // The failing piece waits until all others are at work.
                rig.posix()
                        .on(call)
                        .covering(at)
                        .always()
                        .runsFirst(() -> awaitCalls(rig, call, 6))
                        .fails(Errno.EDQUOT);
                try (CuFileHandle handle = rig.open(file)) {
                    CuFileException failure = Failures.expectErrno(Errno.EDQUOT, () -> {
                        if (call == PosixCall.PREAD) {
                            handle.read(memory.range(), SIZE, 0, 0);
                        } else {
                            handle.write(memory.range(), SIZE, 0, 0);
                        }
                    });
                    int count = (int) failure.bytesTransferred();
                    assertThat(count).isBetween(at - Rig.PIECE, at);
                    if (call == PosixCall.PREAD) {
                        memory.expect(0, file.expected(0, count));
                        memory.accept(count, SIZE - count);
                        memory.verify();
                    } else {
                        file.expectWrite(0, memory.expected(0, count));
                        file.accept(count, SIZE - count);
                        file.verify();
                    }
                }
            }
        }
    }

    private static void awaitCalls(Rig rig, PosixCall call, int count) {
        while (rig.posix().calls(call) < count) {
            Thread.onSpinWait();
        }
    }

    @ParameterizedTest
    @CsvSource({"PREAD, HOST", "PWRITE, HOST", "PREAD, CUDA_DEVICE", "PWRITE, CUDA_DEVICE"})
    void interruptEndsTheRequestAfterThePiecesAtWork(PosixCall call, MemoryKind kind) {
        try (Rig rig = Rig.onGpu()) {
            GuardedFile file = rig.file(SIZE);
            GuardedMemory memory = rig.memory(kind, SIZE);
            rig.posix()
                    .on(call)
                    .covering(2L * Rig.PIECE)
                    .runsFirst(() -> Thread.currentThread().interrupt());
            try (CuFileHandle handle = rig.open(file)) {
                CuFileException failure = Failures.expect(() -> {
                    if (call == PosixCall.PREAD) {
                        handle.read(memory.range(), SIZE, 0, 0);
                    } else {
                        handle.write(memory.range(), SIZE, 0, 0);
                    }
                });
                assertThat(Thread.interrupted()).as("flag").isTrue();
                assertThat(failure).isInstanceOf(CuFileInterruptedException.class);
                int count = (int) failure.bytesTransferred();
                // One piece more if the GPU already copied the next one.
                assertThat(count).isBetween(3 * Rig.PIECE, 4 * Rig.PIECE);
                checkPrefix(call, file, memory, count);
            }
        }
    }

    /** A write waits for another of its pages, though the two share no byte. */
    @ParameterizedTest
    @CsvSource({"0, 100, 0, 200000", "4096, 4096, 0, 4097", "0, 4096, 4095, 10", "8192, 100, 0, 8193"})
    void interruptEndsTheWaitForAnotherWrite(int firstAt, int firstSize, int at, int size)
            throws Exception {
        try (Rig rig = Rig.onHost()) {
            GuardedFile file = rig.file(SIZE);
            GuardedMemory first = rig.host(SIZE);
            GuardedMemory second = rig.host(SIZE);
            CountDownLatch go = new CountDownLatch(1);
            rig.posix().on(PosixCall.PWRITE).runsFirst(() -> awaitLatch(go));
            try (CuFileHandle handle = rig.open(file)) {
                Thread writer = Thread.ofPlatform().start(() -> handle.write(first.range(), firstSize, firstAt, 0));
                try {
                    awaitCalls(rig, PosixCall.PWRITE, 1);
                    FutureTask<CuFileException> failure = new FutureTask<>(
                            () -> Failures.expect(() -> handle.write(second.range(), size, at, 0)));
                    Thread waiter = Thread.ofPlatform().start(failure);
                    while (waiter.getState() != Thread.State.WAITING) {
                        assertThat(waiter.isAlive()).as("waits").isTrue();
                        Thread.onSpinWait();
                    }
                    waiter.interrupt();
                    assertThat(failure.get()).isInstanceOf(CuFileInterruptedException.class);
                    assertThat(failure.get().bytesTransferred()).isZero();
                } finally {
                    go.countDown();
                }
                writer.join();
            }
            file.expectWrite(firstAt, first.expected(0, firstSize));
            file.verify();
        }
    }

    private static void awaitLatch(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void fileCutDuringAReadIsAShortCountAndNoError() {
        try (Rig rig = Rig.onHost()) {
            GuardedFile file = rig.file(SIZE);
            int left = 2 * Rig.PIECE + 100;
            rig.posix().on(PosixCall.PREAD).covering(2L * Rig.PIECE + 5).runsFirst(() -> cut(file, left));
            try (CuFileHandle handle = rig.open(file)) {
                GuardedMemory memory = rig.host(SIZE);
                assertThat(handle.read(memory.range(), SIZE, 0, 0)).isEqualTo(left);
                memory.expect(0, file.expected(0, left));
                // A direct read across the new end of the file may clear the rest of its blocks.
                memory.accept(left, Rig.PIECE);
                memory.verify();
            }
        }
    }

    private static void cut(GuardedFile file, int size) {
        try (FileChannel channel = FileChannel.open(file.path(), StandardOpenOption.WRITE)) {
            channel.truncate(size);
            file.expectSize(size);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void fileIsNeverMappedIntoMemory() {
        try (Rig rig = Rig.onHost()) {
            GuardedFile file = rig.file(SIZE);
            GuardedMemory memory = rig.host(SIZE);
            PosixFault mappingOfFile = rig.posix()
                    .on(PosixCall.MMAP)
                    .when(request -> request.fd() >= 0)
                    .always()
                    .fails(Errno.ENODEV);
            try (CuFileHandle handle = rig.open(file)) {
                readWhole(handle, file, memory);
                writeWhole(handle, file, memory);
            }
            assertThat(mappingOfFile.hits()).isZero();
        }
    }
}
