package io.gds4j.libcufile.guard;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileOpenOption;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.CudaFunction;
import io.gds4j.libcufile.SessionRig;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.FileSource;
import io.gds4j.statistics.IoPath;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The library's calls of a transfer, and their results. */
class TransfersTest extends SessionRig {
    @ParameterizedTest
    @EnumSource(names = {"HOST", "HOST_PINNED", "CUDA_DEVICE", "CUDA_MANAGED", "CUDA_POOL", "CUDA_VMM"})
    void everyKindOfMemoryIsServed(MemoryKind kind) {
        MemoryAllocation memory = allocate(kind, 100_000);
        BackendFile file = file();

        assertThat(backend.read(file, memory.range(), 50_000, 1000, 77)).isEqualTo(50_000);
        assertThat(bytes(memory, 77, 50_000)).isEqualTo(expected(1000, 50_000));
        assertThat(backend.write(file, memory.range(), 100, 0, 77)).isEqualTo(100);
        assertThat(backend.read(file, memory.range(), 100, 0, 0)).isEqualTo(100);
        assertThat(bytes(memory, 0, 100)).isEqualTo(expected(1000, 100));
        assertThat(backend.controls().engineStatistics().bytesByPath())
                .isEqualTo(Map.of(IoPath.LIBCUFILE_POSIX, 50_200L));
    }

    @Test
    void gpuTransferIsCutToTheLargestSlab() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, SIZE);
        backend.driverClose();
        CuFileBackend narrow = machine.backend(CuFileConfig.builder()
                .set(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB, List.of(64L))
                .set(CuFileKeys.POSIX_POOL_SLAB_COUNT, List.of(2L))
                .build());
        narrow.driverOpen();
        BackendFile file = narrow.handleRegister(source(path));
        assertThat(narrow.read(file, memory.range(), SIZE - 77, 77, 0)).isEqualTo(SIZE - 77);
        assertThat(bytes(memory, 0, SIZE - 77)).isEqualTo(expected(77, SIZE - 77));
        assertThat(narrow.write(file, memory.range(), SIZE, 0, 0)).isEqualTo(SIZE);
        narrow.driverClose();
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 4096, 99_999})
    void shortAnswersAreContinued(long after) {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 100_000);
        BackendFile file = file();
        fake.transfers().stopNextAfter(after);
        fake.transfers().stopNextAfter(after);

        assertThat(backend.read(file, memory.range(), 100_000, 5, 0)).isEqualTo(100_000);
        assertThat(bytes(memory, 0, 100_000)).isEqualTo(expected(5, 100_000));
        fake.transfers().stopNextAfter(after);
        assertThat(backend.write(file, memory.range(), 100_000, 50, 0)).isEqualTo(100_000);
    }

    @Test
    void readStopsAtTheEndOfTheFile() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 8192);
        BackendFile file = file();
        assertThat(backend.read(file, memory.range(), 8192, SIZE - 10, 0)).isEqualTo(10);
        assertThat(backend.read(file, memory.range(), 8192, SIZE, 0)).isZero();
        assertThat(backend.read(file, memory.range(), 8192, 1L << 40, 0)).isZero();
    }

    @Test
    void writeThatMovesNothingIsAnError() {
        MemoryAllocation memory = allocate(MemoryKind.HOST, 4096);
        BackendFile file = file();
        fake.transfers().stopNextAfter(1000);
        fake.transfers().answerNext(0, 0);

        CuFileException failure = failure(() -> backend.write(file, memory.range(), 4096, 0, 0));

        assertThat(failure.error()).isEqualTo(CuFileError.IO_ERROR);
        assertThat(failure.bytesTransferred()).isEqualTo(1000);
    }

    @Test
    void failureCarriesCodeErrnoFileAndCount() {
        MemoryAllocation memory = allocate(MemoryKind.HOST, 4096);
        BackendFile file = file();
        fake.transfers().stopNextAfter(1000);
        fake.transfers().answerNext(-1, Errno.ENOSPC);

        CuFileException failure = failure(() -> backend.write(file, memory.range(), 4096, 7, 0));

        assertThat(failure.errno()).hasValue(Errno.ENOSPC);
        assertThat(failure.function()).isEqualTo("cuFileWrite");
        assertThat(failure.path()).contains(path);
        assertThat(failure.fileOffset()).hasValue(7);
        assertThat(failure.size()).hasValue(4096);
        assertThat(failure.bytesTransferred()).isEqualTo(1000);
        assertThat(backend.controls().engineStatistics().bytesByPath())
                .isEqualTo(Map.of(IoPath.LIBCUFILE_POSIX, 1000L));
    }

    @Test
    void deadHandleNeverReachesTheLibrary() {
        MemoryAllocation memory = allocate(MemoryKind.HOST, 4096);
        BackendFile file = file();
        backend.handleDeregister(file);
        expect(CuFileError.HANDLE_NOT_REGISTERED, () -> backend.read(file, memory.range(), 1, 0, 0));
        backend.driverClose();
        expect(CuFileError.DRIVER_NOT_INITIALIZED, () -> backend.read(file, memory.range(), 1, 0, 0));
        backend.driverOpen();
        expect(CuFileError.HANDLE_NOT_REGISTERED, () -> backend.write(file, memory.range(), 1, 0, 0));
        assertThat(fake.driver().users()).isEqualTo(1);
    }

    @Test
    void transferAgainstTheAccessModeIsRefused() {
        MemoryAllocation memory = allocate(MemoryKind.HOST, 4096);
        BackendFile reader = backend.handleRegister(
                FileSource.Named.of(path, StandardOpenOption.READ));
        BackendFile writer = backend.handleRegister(
                FileSource.Named.of(path, StandardOpenOption.WRITE));
        CuFileException write = failure(() -> backend.write(reader, memory.range(), 1, 0, 0));
        assertThat(write.error()).isEqualTo(CuFileError.INVALID_FILE_OPEN_FLAG);
        assertThat(write.errno()).hasValue(Errno.EBADF);
        expect(CuFileError.INVALID_FILE_OPEN_FLAG, () -> backend.read(writer, memory.range(), 1, 0, 0));
        assertThat(fake.transfers().movedBytes()).isZero();
    }

    @Test
    void directHostReadLeavesMemoryBehindTheEndUntouched() throws Exception {
        Files.write(path, expected(0, 9192));
        BackendFile file = backend.handleRegister(
                FileSource.Named.of(path, StandardOpenOption.READ, CuFileOpenOption.DIRECT));
        MemoryAllocation memory = allocate(MemoryKind.HOST, 65536);
        backend.allocator().fill(memory.range(), (byte) 7);

        assertThat(backend.read(file, memory.range(), 65536, 0, 0)).isEqualTo(9192);

        assertThat(bytes(memory, 0, 9192)).isEqualTo(expected(0, 9192));
        assertThat(bytes(memory, 9192, 65536 - 9192)).containsOnly(7);
        assertThat(backend.read(file, memory.range(), 4096, 16384, 0)).isZero();
    }

    /** Pinned memory of the host is CUDA's, too. */
    @ParameterizedTest(name = "{0}, {1}")
    @CsvSource({"false, CUDA_DEVICE", "true, CUDA_DEVICE", "false, HOST_PINNED", "true, HOST_PINNED"})
    void gpuReadLeavesMemoryBehindTheEndUntouched(boolean direct, MemoryKind kind) throws Exception {
        Files.write(path, expected(0, 9192));
        BackendFile file = backend.handleRegister(
                direct
                        ? FileSource.Named.of(path, StandardOpenOption.READ, CuFileOpenOption.DIRECT)
                        : FileSource.Named.of(path, StandardOpenOption.READ));
        MemoryAllocation memory = allocate(kind, 65536);
        backend.allocator().fill(memory.range(), (byte) 7);

        assertThat(backend.read(file, memory.range(), 65536, 0, 0)).isEqualTo(9192);

        assertThat(bytes(memory, 0, 9192)).isEqualTo(expected(0, 9192));
        assertThat(bytes(memory, 9192, 65536 - 9192)).containsOnly(7);
        assertThat(backend.read(file, memory.range(), 4096, 16384, 0)).isZero();
        assertThat(bytes(memory, 0, 9192)).isEqualTo(expected(0, 9192));
        // A later read also gets appended bytes.
        Files.write(path, expected(9192, 4096), StandardOpenOption.APPEND);
        assertThat(backend.read(file, memory.range(), 65536, 0, 0)).isEqualTo(9192 + 4096);
        assertThat(bytes(memory, 9192, 4096)).isEqualTo(expected(9192, 4096));
    }

    @Test
    void readSeesThatAnotherHandleHasCutTheFile() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 8192);
        BackendFile reader = file();
        BackendFile writer = file();
        backend.allocator().fill(memory.range(), (byte) 7);
        assertThat(backend.read(reader, memory.range(), 1, 0, 0)).isEqualTo(1);
        writer.truncate(4100);
        assertThat(backend.read(reader, memory.range(), 8192, 0, 0)).isEqualTo(4100);
        assertThat(bytes(memory, 4100, 8192 - 4100)).containsOnly(7);

        backend.handleRegister(FileSource.Named.of(path, StandardOpenOption.READ, StandardOpenOption.WRITE,
                StandardOpenOption.TRUNCATE_EXISTING));
        assertThat(backend.read(reader, memory.range(), 4100, 0, 4100 - 8)).isZero();
        assertThat(bytes(memory, 4100, 8192 - 4100)).containsOnly(7);
    }

    @Test
    void readSeesThatAnotherProgramHasCutTheFile() throws Exception {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 8192);
        BackendFile file = file();
        backend.allocator().fill(memory.range(), (byte) 7);
        try (FileChannel other = FileChannel.open(path, StandardOpenOption.WRITE)) {
            for (int size = 4100; size > 4000; size -= 10) {
                assertThat(backend.read(file, memory.range(), 1, 0, 0)).isEqualTo(1);
                other.truncate(size);
                assertThat(backend.read(file, memory.range(), 8192, 0, 0)).isEqualTo(size);
                assertThat(bytes(memory, 4100, 8192 - 4100)).containsOnly(7);
            }
        }
    }

    @Test
    void directHandleServesHostMemoryThatIsNotAligned() {
        BackendFile file = backend.handleRegister(
                FileSource.Named.of(path, StandardOpenOption.READ, StandardOpenOption.WRITE, CuFileOpenOption.DIRECT));
        MemoryAllocation memory = allocate(MemoryKind.HOST, 3 * 8192);
        assertThat(backend.read(file, memory.range(), 8192, 4096, 5)).isEqualTo(8192);
        assertThat(bytes(memory, 5, 8192)).isEqualTo(expected(4096, 8192));
        assertThat(backend.write(file, memory.range(), 8192, 65536, 5)).isEqualTo(8192);
        assertThat(backend.read(file, memory.range(), 8192, 65536, 8192)).isEqualTo(8192);
        assertThat(bytes(memory, 8192, 8192)).isEqualTo(expected(4096, 8192));
    }

    @Test
    void largeTransferAtAnOddOffsetGoesInPieces() {
        int size = 20 << 20;
        BackendFile file = file();
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, size);
        backend.allocator().fill(memory.range(), (byte) 3);
        assertThat(backend.write(file, memory.range(), size, 1, 0)).isEqualTo(size);
        assertThat(file.size()).isEqualTo(size + 1L);
        assertThat(backend.read(file, memory.range(), size, 1, 0)).isEqualTo(size);
    }

    @Test
    void maxDirectIoSizeCutsRequestsWithoutTellingTheLibrary() {
        BackendFile file = file();
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 65536 * 4);
        AtomicInteger calls = new AtomicInteger();
        fake.transfers().during(calls::incrementAndGet);
        backend.controls().driverSetMaxDirectIoSize(64);
        assertThat(backend.controls().driverGetProperties().maxDirectIoSizeKb()).isEqualTo(64);
        assertThat(backend.read(file, memory.range(), 65536 * 4, 0, 0)).isEqualTo(65536 * 4);
        assertThat(calls.get()).isEqualTo(4);
        assertThat(bytes(memory, 0, 65536 * 4)).isEqualTo(expected(0, 65536 * 4));
        assertThat(fake.callsOf("cuFileDriverSetMaxDirectIOSize")).isEmpty();
    }

    @Test
    void transferRestoresTheContextOfTheThread() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 4096);
        BackendFile file = file();
        long foreign = machine.cuda.createContext(0);
        long[] current = new long[1];
        machine.cuda.ctxSetCurrent(foreign);
        try {
            backend.read(file, memory.range(), 4096, 0, 0);
            machine.cuda.ctxGetCurrent(current);
            assertThat(current[0]).isEqualTo(foreign);
        } finally {
            machine.cuda.ctxSetCurrent(0);
            machine.cuda.destroyContext(foreign);
        }
        assertThat(bytes(memory, 0, 4096)).isEqualTo(expected(0, 4096));
    }

    @Test
    void currentContextIsNotPushedAgain() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 4096);
        BackendFile file = file();
        long[] owner = new long[1];
        machine.cuda.pointerGetAttribute(owner, 1, memory.range().address());
        machine.cuda.ctxSetCurrent(owner[0]);
        long pushes = machine.cuda.calls(CudaFunction.CTX_PUSH_CURRENT);
        backend.read(file, memory.range(), 4096, 0, 0);
        assertThat(machine.cuda.calls(CudaFunction.CTX_PUSH_CURRENT)).isEqualTo(pushes);
        machine.cuda.ctxSetCurrent(0);
    }

    @Test
    void addressUnknownToTheDriverIsRefused() {
        BackendFile file = file();
        MemoryRange nowhere = MemoryRange.ofAddress(0x10, 4096, MemoryKind.CUDA_DEVICE);
        expect(CuFileError.CUDA_POINTER_INVALID, () -> backend.read(file, nowhere, 4096, 0, 0));
        expect(CuFileError.CUDA_POINTER_INVALID, () -> backend.bufRegister(nowhere, 0));
        assertThat(fake.transfers().movedBytes()).isZero();
    }

    @Test
    void interruptedThreadDoesNotCallTheLibrary() {
        MemoryAllocation memory = allocate(MemoryKind.HOST, 4096);
        BackendFile file = file();
        Thread.currentThread().interrupt();
        CuFileException failure = failure(() -> backend.read(file, memory.range(), 4096, 0, 0));
        assertThat(Thread.interrupted()).isTrue();
        assertThat(failure).isInstanceOf(CuFileInterruptedException.class);
        assertThat(fake.transfers().movedBytes()).isZero();
        assertThat(backend.read(file, memory.range(), 4096, 0, 0)).isEqualTo(4096);
    }

    @Test
    void virtualThreadsCallTheLibraryFromPlatformThreads() throws InterruptedException {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 4096);
        BackendFile file = file();
        AtomicReference<Thread> inside = new AtomicReference<>();
        fake.transfers().during(() -> inside.set(Thread.currentThread()));
        AtomicReference<Long> moved = new AtomicReference<>();
        Thread.ofVirtual().start(() -> moved.set(backend.read(file, memory.range(), 4096, 0, 0))).join();
        assertThat(moved.get()).isEqualTo(4096);
        assertThat(inside.get().isVirtual()).isFalse();
        assertThat(inside.get().getName()).startsWith("gds4j-libcufile-");
    }

    @Test
    void memoryConfinedToAVirtualThreadIsServed() throws InterruptedException {
        BackendFile file = file();
        AtomicReference<byte[]> read = new AtomicReference<>();
        Thread.ofVirtual()
                .start(() -> {
                    try (Arena arena = Arena.ofConfined()) {
                        MemorySegment segment = arena.allocate(100);
                        backend.read(file, MemoryRange.ofSegment(segment), 100, 33, 0);
                        read.set(segment.toArray(ValueLayout.JAVA_BYTE));
                    }
                })
                .join();
        assertThat(read.get()).isEqualTo(expected(33, 100));
    }

    @Test
    void virtualThreadGetsTheFailureOfTheLibrary() throws InterruptedException {
        MemoryAllocation memory = allocate(MemoryKind.HOST, 4096);
        BackendFile file = file();
        fake.transfers().answerNext(-5036, 0);
        AtomicReference<CuFileException> failure = new AtomicReference<>();
        Thread.ofVirtual()
                .start(() -> failure.set(failure(() -> backend.read(file, memory.range(), 4096, 0, 0))))
                .join();
        assertThat(failure.get().error()).isEqualTo(CuFileError.GPU_MEMORY_PINNING_FAILED);
    }

    @Test
    void closingAFileWaitsForItsTransfers() throws InterruptedException {
        MemoryAllocation memory = allocate(MemoryKind.HOST, 4096);
        BackendFile file = file();
        CountDownLatch began = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        fake.transfers().during(() -> {
            began.countDown();
            try {
                go.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        AtomicReference<Long> moved = new AtomicReference<>();
        Thread reader = Thread.ofPlatform()
                .start(() -> moved.set(backend.read(file, memory.range(), 4096, 0, 0)));
        began.await();
        Thread closer = Thread.ofPlatform().start(() -> backend.handleDeregister(file));
        while (closer.getState() != Thread.State.WAITING) {
            Thread.onSpinWait();
        }
        assertThat(fake.callsOf("cuFileHandleDeregister")).isEmpty();
        go.countDown();
        reader.join();
        closer.join();
        assertThat(moved.get()).isEqualTo(4096);
        assertThat(fake.callsOf("cuFileHandleDeregister")).hasSize(1);
    }

    @Test
    void manyThreadsOnOneHandleGetTheirBytes() {
        BackendFile file = file();
        IntStream.range(0, 8)
                .mapToObj(i -> Thread.ofPlatform().start(() -> {
                    try (Arena arena = Arena.ofConfined()) {
                        MemorySegment segment = arena.allocate(1000);
                        for (int round = 0; round < 200; round++) {
                            long at = (i * 200L + round) * 500;
                            backend.read(file, MemoryRange.ofSegment(segment), 1000, at, 0);
                            if (segment.get(ValueLayout.JAVA_BYTE, 999) != content(at + 999)) {
                                fake.violated("wrong bytes at " + at);
                            }
                        }
                    }
                }))
                .toList()
                .forEach(thread -> {
                    try {
                        thread.join();
                    } catch (InterruptedException e) {
                        throw new AssertionError(e);
                    }
                });
    }
}
