package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileHandle;
import io.gds4j.Logged;
import io.gds4j.config.CuFileKeys;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaFunction;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixCall;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Transfers between files and GPU memory: slabs, copies in flight and their failures. */
class GpuTransfersTest {
    private static final int SIZE = 6 * Rig.PIECE + 1234;
    private static final int CODE = 999;

    @RegisterExtension
    private final Logged logged = Logged.by("io.gds4j").about("stays pageable");

    private static void readWhole(CuFileHandle handle, GuardedFile file, GuardedMemory memory) {
        assertThat(handle.read(memory.range(), SIZE, 0, 0)).isEqualTo(SIZE);
        memory.expect(0, file.expected(0, SIZE));
        memory.verify();
    }

    private static void writeWhole(CuFileHandle handle, GuardedFile file, GuardedMemory memory) {
        assertThat(handle.write(memory.range(), SIZE, 0, 0)).isEqualTo(SIZE);
        file.expectWrite(0, memory.expected(0, SIZE));
        file.verify();
    }

    @Test
    void nextPieceIsReadWhileTheLastIsOnItsWayToTheGpu() {
        try (Rig rig = Rig.onGpu()) {
            GuardedFile file = rig.file(SIZE);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, SIZE);
            AtomicInteger inFlight = new AtomicInteger();
            rig.posix()
                    .on(PosixCall.PREAD)
                    .nth(2)
                    .runsFirst(() -> inFlight.set(rig.cuda().pendingWork()));
            try (CuFileHandle handle = rig.open(file)) {
                readWhole(handle, file, memory);
            }
            assertThat(inFlight.get()).as("copies in flight during the second read").isPositive();
        }
    }

    @Test
    void nextPieceIsOnItsWayFromTheGpuWhileTheLastIsWritten() {
        try (Rig rig = Rig.onGpu()) {
            GuardedFile file = rig.file(SIZE);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, SIZE);
            AtomicInteger inFlight = new AtomicInteger();
            rig.posix()
                    .on(PosixCall.PWRITE)
                    .nth(1)
                    .runsFirst(() -> inFlight.set(rig.cuda().pendingWork()));
            try (CuFileHandle handle = rig.open(file)) {
                writeWhole(handle, file, memory);
            }
            assertThat(inFlight.get()).as("copies in flight during the first write").isPositive();
        }
    }

    @Test
    void nothingIsInFlightWhenARequestReturns() {
        try (Rig rig = Rig.onGpu()) {
            GuardedFile file = rig.file(SIZE);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, SIZE);
            try (CuFileHandle handle = rig.open(file)) {
                for (int size : new int[]{1, 4096, 65_537, SIZE}) {
                    handle.read(memory.range(), size, 0, 0);
                    assertThat(rig.cuda().pendingWork()).isZero();
                    handle.write(memory.range(), size, 0, 0);
                    assertThat(rig.cuda().pendingWork()).isZero();
                }
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 4, 7})
    void copyThatFailsLateEndsTheReadAtItsPiece(int nth) {
        try (Rig rig = Rig.onGpu()) {
            GuardedFile file = rig.file(SIZE);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, SIZE);
            try (CuFileHandle handle = rig.open(file)) {
                rig.cuda().failDeferred(nth, CODE);
                CuFileException failure = Failures.expect(
                        CuFileError.CUDA_DRIVER_ERROR, () -> handle.read(memory.range(), SIZE, 0, 0));
                int count = (int) failure.bytesTransferred();
                assertThat(count).isLessThanOrEqualTo((nth - 1) * Rig.PIECE);
                memory.expect(0, file.expected(0, count));
                memory.accept(count, SIZE - count);
                memory.verify();
                assertThat(rig.cuda().pendingWork()).isZero();

                rig.cuda().heal();
                readWhole(handle, file, memory);
            }
        }
    }

    /** The end of the file ends the piece first, and its copy fails then. */
    @ParameterizedTest
    @CsvSource({"77, CUDA_DEVICE", "32768, CUDA_DEVICE", "69633, CUDA_DEVICE", "69633, CUDA_POOL", "69633, CUDA_VMM",
            "69633, CUDA_MANAGED"})
    void copyThatFailsLateEndsTheReadAtTheEndOfTheFile(int size, MemoryKind kind) {
        try (Rig rig = Rig.onGpu()) {
            GuardedFile file = rig.file(size);
            GuardedMemory memory = rig.memory(kind, SIZE);
            int last = size / Rig.PIECE;
            List<ScatterCopy> halves = List.of(
                    new ScatterCopy(0, SIZE / 2, memory.range(), 0),
                    new ScatterCopy(SIZE / 2, SIZE - SIZE / 2, memory.range(), SIZE / 2));
            try (CuFileHandle handle = rig.open(file)) {
                for (LongSupplier read : List.<LongSupplier>of(
                        () -> handle.read(memory.range(), SIZE, 0, 0),
                        () -> handle.readScattered(0, SIZE, halves))) {
                    rig.cuda().failDeferred(last + 1, CODE);
                    CuFileException failure = Failures.expect(CuFileError.CUDA_DRIVER_ERROR, read::getAsLong);
                    assertThat(failure.bytesTransferred()).isLessThanOrEqualTo((long) last * Rig.PIECE);
                    rig.cuda().heal();
                }
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 4, 7})
    void copyThatFailsLateEndsTheWriteAtItsPiece(int nth) {
        try (Rig rig = Rig.onGpu()) {
            GuardedFile file = rig.file(SIZE);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, SIZE);
            try (CuFileHandle handle = rig.open(file)) {
                rig.cuda().failDeferred(nth, CODE);
                CuFileException failure = Failures.expect(
                        CuFileError.CUDA_DRIVER_ERROR, () -> handle.write(memory.range(), SIZE, 0, 0));
                int count = (int) failure.bytesTransferred();
                assertThat(count).isLessThanOrEqualTo((nth - 1) * Rig.PIECE);
                file.expectWrite(0, memory.expected(0, count));
                file.accept(count, SIZE - count);
                file.verify();
                memory.verify();

                rig.cuda().heal();
                writeWhole(handle, file, memory);
            }
        }
    }

    @Test
    void copiesThatTakeLongAreWaitedForAndMayFailThen() {
        try (Rig rig = Rig.onGpu()) {
            GuardedFile file = rig.file(SIZE);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, SIZE);
            try (CuFileHandle handle = rig.open(file)) {
                for (int look = 1; look <= 100; look++) {
                    rig.cuda().fail(CudaFunction.EVENT_QUERY, look, Cuda.ERROR_NOT_READY);
                }
                rig.cuda().fail(CudaFunction.EVENT_SYNCHRONIZE, 1, CODE);
                Failures.expect(CuFileError.CUDA_DRIVER_ERROR, () -> handle.read(memory.range(), SIZE, 0, 0));
                assertThat(rig.cuda().calls(CudaFunction.EVENT_SYNCHRONIZE)).isPositive();
                rig.cuda().heal();
                readWhole(handle, file, memory);
            }
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = CudaFunction.class,
            names = {"MEMCPY_HTOD_ASYNC", "EVENT_RECORD", "EVENT_QUERY", "STREAM_CREATE",
                    "EVENT_CREATE"})
    void everyCallThatFailsEndsTheReadWithACodeAndTheNextOneWorks(CudaFunction function) {
        try (Rig rig = Rig.onGpu()) {
            GuardedFile file = rig.file(SIZE);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, SIZE);
            try (CuFileHandle handle = rig.open(file)) {
                rig.cuda().fail(function, 1, CODE);
                CuFileException failure = Failures.expect(
                        CuFileError.CUDA_DRIVER_ERROR, () -> handle.read(memory.range(), SIZE, 0, 0));
                int count = (int) failure.bytesTransferred();
                memory.expect(0, file.expected(0, count));
                memory.accept(count, SIZE - count);
                memory.verify();
                rig.cuda().heal();
                readWhole(handle, file, memory);
            }
        }
    }

    @Test
    void contextThatCannotBeMadeCurrentFailsTheRequest() {
        try (Rig rig = Rig.onGpu()) {
            GuardedFile file = rig.file(SIZE);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, SIZE);
            try (CuFileHandle handle = rig.open(file)) {
                readWhole(handle, file, memory);
                rig.cuda().fail(CudaFunction.CTX_PUSH_CURRENT, 1, CODE);
                Failures.expect(CuFileError.CUDA_DRIVER_ERROR, () -> handle.read(memory.range(), SIZE, 0, 0));
                rig.cuda().heal();
                readWhole(handle, file, memory);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {4096, 4097, 100_000, 4 * Rig.PIECE})
    void diskErrorBehindCopiesInFlightTellsTheContiguousCount(int at) {
        try (Rig rig = Rig.onGpu()) {
            GuardedFile file = rig.file(SIZE);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, SIZE);
            rig.posix().on(PosixCall.PREAD).covering(at).always().fails(Errno.EIO);
            try (CuFileHandle handle = rig.open(file)) {
                CuFileException failure = Failures.expect(
                        CuFileError.IO_ERROR, Errno.EIO, () -> handle.read(memory.range(), SIZE, 0, 0));
                int count = (int) failure.bytesTransferred();
                assertThat(count).isLessThanOrEqualTo(at);
                memory.expect(0, file.expected(0, count));
                memory.verify();
            }
        }
    }

    @Test
    void memoryThatCannotBePinnedServesAllTheSame() {
        try (Rig rig = Rig.onGpu()) {
            GuardedFile file = rig.file(SIZE);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, SIZE);
            rig.cuda().refusePinning(true);
            try (CuFileHandle handle = rig.open(file)) {
                readWhole(handle, file, memory);
                writeWhole(handle, file, memory);
            }
            assertThat(rig.cuda().pinnedBytes()).isZero();
        }
        assertThat(logged.lines()).isNotEmpty().allMatch(line -> line.contains("CUDA_ERROR_OUT_OF_MEMORY"));
    }

    @Test
    void withoutMemoryForAnySlabTheRequestFailsAndALaterOneWorks() {
        try (Rig rig = Rig.onGpu()) {
            GuardedFile file = rig.file(SIZE);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, SIZE);
            rig.posix().on(PosixCall.MMAP).always().fails(Errno.ENOMEM);
            try (CuFileHandle handle = rig.open(file)) {
                CuFileException failure = Failures.expect(
                        CuFileError.NOMEM_ERROR, Errno.ENOMEM, () -> handle.read(memory.range(), SIZE, 0, 0));
                assertThat(failure.bytesTransferred()).isZero();
                memory.verify();
                rig.posix().heal();
                readWhole(handle, file, memory);
            }
        }
    }

    @Test
    void withoutMemoryForASecondSlabTheFirstOneServes() {
        try (Rig rig = Rig.onGpu()) {
            GuardedFile file = rig.file(SIZE);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, SIZE);
            rig.posix().on(PosixCall.MMAP).nth(2).always().fails(Errno.ENOMEM);
            try (CuFileHandle handle = rig.open(file)) {
                readWhole(handle, file, memory);
                writeWhole(handle, file, memory);
            }
        }
    }

    @Test
    void oneSlabServesManyThreadsOneAfterTheOther() {
        try (Rig rig = Rig.onGpu(builder -> builder.set(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB, List.of(64L))
                .set(CuFileKeys.POSIX_POOL_SLAB_COUNT, List.of(1L))
                .set(CuFileKeys.MAX_IO_THREADS, 4L))) {
            GuardedFile file = rig.file(SIZE);
            try (CuFileHandle handle = rig.open(file)) {
                List<Thread> threads = new ArrayList<>();
                ConcurrentLinkedQueue<Throwable> failures = new ConcurrentLinkedQueue<>();
                for (int i = 0; i < 128; i++) {
                    GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, SIZE);
                    threads.add(Thread.ofPlatform().daemon().start(() -> {
                        try {
                            readWhole(handle, file, memory);
                        } catch (RuntimeException | AssertionError e) {
                            failures.add(e);
                        }
                    }));
                }
                join(threads);
                assertThat(failures).isEmpty();
            }
            assertThat(rig.driver().peakStagingBytes()).isEqualTo(64 << 10);
        }
    }

    private static void join(List<Thread> threads) {
        for (Thread thread : threads) {
            try {
                assertThat(thread.join(Duration.ofSeconds(60))).as("ends").isTrue();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    }

    @Test
    void managedMemoryIsNeverTheTargetOfADirectRead() {
        try (Rig rig = Rig.onGpu()) {
            GuardedFile file = rig.file(SIZE);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_MANAGED, SIZE);
            long from = memory.range().address();
            try (CuFileHandle handle = rig.open(file)) {
                readWhole(handle, file, memory);
                writeWhole(handle, file, memory);
            }
            assertThat(rig.reads(true)).isNotEmpty();
            assertThat(rig.posix().io())
                    .noneMatch(request -> request.address() >= from && request.address() < from + SIZE);
        }
    }

    @Test
    void hostMemoryCreatesNoContext() {
        try (Rig rig = Rig.onGpu()) {
            GuardedFile file = rig.file(SIZE);
            GuardedMemory memory = rig.host(SIZE);
            try (CuFileHandle handle = rig.open(file);
                    var buffer = rig.driver().registerBuffer(memory.range())) {
                readWhole(handle, file, memory);
                writeWhole(handle, file, memory);
                assertThat(handle.read(buffer, 0)).isEqualTo(SIZE);
            }
            assertThat(rig.cuda().liveContexts()).isZero();
        }
    }

    @Test
    void driverThatIsTornDownFailsRequestsAndLetsTheSessionClose() {
        Rig rig = Rig.onGpu();
        GuardedFile file = rig.file(SIZE);
        GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, SIZE);
        CuFileHandle handle = rig.open(file);
        readWhole(handle, file, memory);
        rig.cuda().deinitialize();
        CuFileException failure = Failures.expect(() -> handle.read(memory.range(), SIZE, 0, 0));
        assertThat(failure.error()).isIn(CuFileError.CUDA_DRIVER_ERROR, CuFileError.CUDA_POINTER_INVALID);
        handle.close();
        rig.driver().close();
        memory.close();
        assertThat(rig.driver().isOpen()).isFalse();
        assertThat(rig.cuda().calls(CudaFunction.DEVICE_PRIMARY_CTX_RETAIN)).isEqualTo(1);
    }

    @Test
    void threadOfTheProgramKeepsItsTimerSlack() {
        Posix real = FfmPosix.instance();
        int before = real.timerSlack();
        try (Rig rig = Rig.onGpu()) {
            assertThat(real.setTimerSlack(123_456)).isZero();
            GuardedFile file = rig.file(SIZE);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, SIZE);
            try (CuFileHandle handle = rig.open(file)) {
                readWhole(handle, file, memory);
                assertThat(rig.posix().calls(PosixCall.SET_TIMER_SLACK)).isEqualTo(2);
                assertThat(real.timerSlack()).isEqualTo(123_456);
            }
        } finally {
            real.setTimerSlack(before);
        }
    }
}
