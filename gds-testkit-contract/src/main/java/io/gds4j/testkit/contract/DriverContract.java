package io.gds4j.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileBuffer;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.error.CuFileError;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.FileSource;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import io.gds4j.testkit.RawDescriptors.Access;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Contract of opening and closing: the backend counts its users, the last close drops all registrations, and the driver
 * can be opened again. Tests the backend itself first, then the driver above it.
 *
 * @since 0.1
 */
public abstract class DriverContract extends BackendContract {
    private static final int PAGE = 4096;
    private static final int THREADS = 64;
    private static final int POLL_MODE = 1;

    /** For subclasses. */
    protected DriverContract() {
    }

    private CuFileBackend closedBackend() {
        return backend().createBackend(backend().config());
    }

    private static FileSource toRead(Path path) {
        return FileSource.Named.of(path, StandardOpenOption.READ);
    }

    private static void closeAll(CuFileBackend backend) {
        while (backend.useCount() > 0) {
            backend.driverClose();
        }
    }

    @Test
    void everyOpenAndCloseIsCounted() {
        CuFileBackend backend = closedBackend();
        assertThat(backend.useCount()).isZero();
        backend.driverOpen();
        backend.driverOpen();
        assertThat(backend.useCount()).isEqualTo(2);
        backend.driverClose();
        assertThat(backend.useCount()).isEqualTo(1);
        backend.driverClose();
        assertThat(backend.useCount()).isZero();
    }

    @Test
    void extraCloseIsRefused() {
        CuFileBackend backend = closedBackend();
        Failures.expect(CuFileError.DRIVER_NOT_INITIALIZED, backend::driverClose);
        backend.driverOpen();
        backend.driverClose();
        Failures.expect(CuFileError.DRIVER_NOT_INITIALIZED, backend::driverClose);
        assertThat(backend.useCount()).isZero();
    }

    @Test
    void registeringAFileOpensAClosedDriver() {
        CuFileBackend backend = closedBackend();
        BackendFile file = backend.handleRegister(toRead(newFile(10).path()));
        assertThat(backend.useCount()).isEqualTo(1);
        backend.handleDeregister(file);
        assertThat(backend.useCount()).isEqualTo(1);
        backend.driverClose();
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void registeringMemoryOpensAClosedDriver(MemoryKind kind) {
        CuFileBackend backend = closedBackend();
        try (MemoryAllocation memory = allocator().allocate(kind, PAGE)) {
            backend.bufRegister(memory.range(), 0);
            assertThat(backend.useCount()).isEqualTo(1);
            backend.bufDeregister(memory.range());
            backend.driverClose();
        }
    }

    @Test
    void askingForPropertiesOpensAClosedDriver() {
        CuFileBackend backend = closedBackend();
        backend.controls().driverGetProperties();
        assertThat(backend.useCount()).isEqualTo(1);
        backend.driverClose();
    }

    @Test
    void refusedRegistrationLeavesNothingBehind() {
        CuFileBackend backend = closedBackend();
        Failures.expect(() -> backend.handleRegister(toRead(newPath())));
        closeAll(backend);
        backend.driverOpen();
        backend.driverClose();
    }

    @Test
    void deregisteringMemoryBeforeAnyOpenIsRefused() {
        CuFileBackend backend = closedBackend();
        try (MemoryAllocation memory = allocator().allocate(MemoryKind.HOST, PAGE)) {
            Failures.expect(CuFileError.DRIVER_CLOSING, () -> backend.bufDeregister(memory.range()));
        }
        assertThat(backend.useCount()).isZero();
    }

    @Test
    void deregisteringAFileOfAClosedDriverIsIgnored() {
        CuFileBackend backend = closedBackend();
        BackendFile file = backend.handleRegister(toRead(newFile(10).path()));
        backend.driverClose();
        backend.handleDeregister(file);
        assertThat(backend.useCount()).isZero();
    }

    @Test
    void readAndWriteAfterTheLastCloseAreRefused() {
        CuFileBackend backend = closedBackend();
        BackendFile file = backend.handleRegister(toRead(newFile(10).path()));
        backend.driverClose();
        try (MemoryAllocation memory = allocator().allocate(MemoryKind.HOST, PAGE)) {
            MemoryRange range = memory.range();
            Failures.expect(CuFileError.DRIVER_NOT_INITIALIZED, () -> backend.read(file, range, 10, 0, 0));
            Failures.expect(CuFileError.DRIVER_NOT_INITIALIZED, () -> backend.write(file, range, 10, 0, 0));
        }
        assertThat(backend.useCount()).isZero();
    }

    @Test
    void fileOfAnEarlierSessionIsUnknownAfterReopening() {
        CuFileBackend backend = closedBackend();
        BackendFile file = backend.handleRegister(toRead(newFile(10).path()));
        backend.driverClose();
        backend.driverOpen();
        try (MemoryAllocation memory = allocator().allocate(MemoryKind.HOST, PAGE)) {
            Failures.expect(
                    CuFileError.HANDLE_NOT_REGISTERED, () -> backend.read(file, memory.range(), 10, 0, 0));
        }
        backend.driverClose();
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void lastCloseDropsRegistrationsOfMemory(MemoryKind kind) {
        CuFileBackend backend = closedBackend();
        try (MemoryAllocation memory = allocator().allocate(kind, PAGE)) {
            backend.driverOpen();
            backend.bufRegister(memory.range(), 0);
            backend.driverClose();
            backend.driverOpen();
            Failures.expect(CuFileError.MEMORY_NOT_REGISTERED, () -> backend.bufDeregister(memory.range()));
            backend.bufRegister(memory.range(), 0);
            backend.bufDeregister(memory.range());
            backend.driverClose();
        }
    }

    @Test
    void lastCloseDropsRegistrationsOfDescriptors() {
        CuFileBackend backend = closedBackend();
        int fd = backend().descriptors().open(newFile(10).path(), Access.READ);
        FileSource source = new FileSource.Descriptor(fd);
        try {
            backend.handleRegister(source);
            backend.driverClose();
            backend.handleRegister(source);
            backend.driverClose();
        } finally {
            backend().descriptors().close(fd);
        }
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void lastCloseWaitsForRequestsOfTheBackend(MemoryKind kind) {
        int size = 500_000;
        GuardedFile guarded = newFile(size);
        for (int round = 0; round < 10; round++) {
            CuFileBackend backend = closedBackend();
            BackendFile file = backend.handleRegister(toRead(guarded.path()));
            CountDownLatch running = new CountDownLatch(2);
            try (GuardedMemory memory = memory(kind, 2 * size)) {
                Crowd.run(3, member -> {
                    if (member == 2) {
                        running.await();
                        backend.driverClose();
                        memory.put(0, new byte[2 * size]);
                    } else {
                        MemoryRange part = memory.range().slice((long) member * size, size);
                        Failures.expect(
                                CuFileError.DRIVER_NOT_INITIALIZED,
                                () -> readForEver(backend, file, part, running));
                    }
                });
                memory.verify();
            }
        }
    }

    private static void readForEver(
            CuFileBackend backend, BackendFile file, MemoryRange range, CountDownLatch running) {
        while (true) {
            assertThat(backend.read(file, range, range.length(), 0, 0)).isEqualTo(range.length());
            running.countDown();
        }
    }

    @Test
    void innerCloseKeepsRegistrations() {
        CuFileBackend backend = closedBackend();
        GuardedFile guarded = newFile(100);
        backend.driverOpen();
        BackendFile file = backend.handleRegister(toRead(guarded.path()));
        backend.driverOpen();
        backend.driverClose();
        try (MemoryAllocation memory = allocator().allocate(MemoryKind.HOST, PAGE)) {
            assertThat(backend.read(file, memory.range(), 200, 0, 0)).isEqualTo(100);
        }
        backend.driverClose();
    }

    @Test
    void servesAgainAfterEveryReopening() {
        CuFileBackend backend = closedBackend();
        GuardedFile guarded = newFile(100);
        try (MemoryAllocation memory = allocator().allocate(MemoryKind.HOST, PAGE)) {
            for (int round = 0; round < 5; round++) {
                backend.driverOpen();
                BackendFile file = backend.handleRegister(toRead(guarded.path()));
                assertThat(backend.read(file, memory.range(), 200, 0, 0)).isEqualTo(100);
                backend.driverClose();
            }
        }
    }

    @Test
    void concurrentImplicitOpensOpenOnce() {
        CuFileBackend backend = closedBackend();
        try (MemoryAllocation memory = allocator().allocate(MemoryKind.HOST, (long) THREADS * PAGE)) {
            Crowd.run(
                    THREADS,
                    member -> backend.bufRegister(memory.range().slice((long) member * PAGE, PAGE), 0));
            assertThat(backend.useCount()).isEqualTo(1);
            for (int i = 0; i < THREADS; i++) {
                backend.bufDeregister(memory.range().slice((long) i * PAGE, PAGE));
            }
            backend.driverClose();
        }
    }

    @Test
    void concurrentOpensAndClosesAreCounted() {
        CuFileBackend backend = closedBackend();
        Crowd.run(THREADS, member -> backend.driverOpen());
        assertThat(backend.useCount()).isEqualTo(THREADS);
        Crowd.run(THREADS, member -> backend.driverClose());
        assertThat(backend.useCount()).isZero();
    }

    @Test
    void racingOpensAndClosesNeverFail() {
        CuFileBackend backend = closedBackend();
        Crowd.run(8, member -> {
            for (int round = 0; round < 20; round++) {
                backend.driverOpen();
                backend.driverClose();
            }
        });
        assertThat(backend.useCount()).isZero();
    }

    @Test
    void limitsOfAClosedDriverCannotBeSet() {
        CuFileBackend backend = closedBackend();
        Failures.expect(CuFileError.DRIVER_NOT_INITIALIZED, () -> backend.controls().driverSetMaxDirectIoSize(1024));
        Failures.expect(CuFileError.DRIVER_NOT_INITIALIZED, () -> backend.controls().driverSetMaxCacheSize(1 << 20));
        Failures.expect(CuFileError.DRIVER_NOT_INITIALIZED,
                () -> backend.controls().driverSetMaxPinnedMemSize(1 << 20));
        closeAll(backend);
    }

    @ParameterizedTest
    @ValueSource(longs = {64, 1024, 16384})
    void largestDirectRequestCanBeSetInSteps(long kb) {
        try (CuFileDriver driver = newDriver()) {
            driver.setMaxDirectIoSize(kb);
            assertThat(driver.properties().maxDirectIoSizeKb()).isEqualTo(kb);
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 7, 63, 65, 16385, 16448, -64, Long.MAX_VALUE, Long.MIN_VALUE})
    void largestDirectRequestOutsideItsRangeIsRefused(long kb) {
        Failures.expect(CuFileError.DRIVER_UNSUPPORTED_LIMIT, () -> driver().setMaxDirectIoSize(kb));
    }

    @Test
    void smallestDirectRequestSizeStillServesLargeRequests() {
        GuardedFile file = newFile(1_000_000);
        try (CuFileDriver driver = newDriver();
                CuFileHandle handle = driver.openFile(file.path(), Mode.DIRECT.options());
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, 1_000_000)) {
            driver.setMaxDirectIoSize(64);
            assertThat(handle.read(memory.range(), 0)).isEqualTo(1_000_000);
        }
    }

    @Test
    void oddLimitsAreRefused() {
        Failures.expect(CuFileError.DRIVER_UNSUPPORTED_LIMIT, () -> driver().setMaxPinnedMemSize(7));
        Failures.expect(CuFileError.DRIVER_UNSUPPORTED_LIMIT, () -> driver().setMaxPinnedMemSize(-1));
        Failures.expect(CuFileError.DRIVER_UNSUPPORTED_LIMIT, () -> driver().setMaxCacheSize(-1));
        Failures.expect(CuFileError.DRIVER_UNSUPPORTED_LIMIT, () -> driver().setPollMode(true, 3));
        Failures.expect(CuFileError.DRIVER_UNSUPPORTED_LIMIT, () -> driver().setPollMode(true, -4));
    }

    @Test
    void pollModeCanBeChanged() {
        try (CuFileDriver driver = newDriver()) {
            driver.setPollMode(true, 8);
            assertThat(driver.properties().driverControlFlags() & POLL_MODE).isEqualTo(POLL_MODE);
            assertThat(driver.properties().pollThresholdKb()).isEqualTo(8);
            driver.setPollMode(false, 4);
            assertThat(driver.properties().driverControlFlags() & POLL_MODE).isZero();
        }
    }

    @Test
    void sharedDriverLivesUntilItsLastUserCloses() {
        GuardedFile file = newFile(100);
        CuFileDriver first = newDriver();
        CuFileDriver second = first.share();
        assertThat(first.useCount()).isEqualTo(2);
        CuFileHandle handle = first.openFile(file.path());
        first.close();
        assertThat(first.isOpen()).isFalse();
        assertThat(second.isOpen()).isTrue();
        assertThat(second.useCount()).isEqualTo(1);
        try (MemoryAllocation memory = second.allocator().allocate(MemoryKind.HOST, PAGE)) {
            assertThat(handle.read(memory.range(), 0)).isEqualTo(100);
        }
        second.close();
        assertThat(handle.isOpen()).isFalse();
        assertThat(second.useCount()).isZero();
    }

    @Test
    void secondCloseOfASessionIsIgnored() {
        CuFileDriver first = newDriver();
        CuFileDriver second = first.share();
        first.close();
        first.close();
        assertThat(second.isOpen()).isTrue();
        second.close();
        second.close();
        assertThat(second.useCount()).isZero();
    }

    @Test
    void closedDriverRefusesEverything() {
        GuardedFile file = newFile(100);
        CuFileDriver closed = newDriver();
        MemoryAllocation memory = closed.allocator().allocate(MemoryKind.HOST, PAGE);
        CuFileHandle handle = closed.openFile(file.path());
        CuFileBuffer buffer = closed.registerBuffer(memory.range());
        closed.close();

        Failures.expect(CuFileError.DRIVER_NOT_INITIALIZED, () -> closed.openFile(file.path()));
        Failures.expect(CuFileError.DRIVER_NOT_INITIALIZED, () -> closed.registerBuffer(memory.range()));
        Failures.expect(CuFileError.DRIVER_NOT_INITIALIZED, closed::share);
        Failures.expect(CuFileError.DRIVER_NOT_INITIALIZED, closed::properties);
        Failures.expect(CuFileError.DRIVER_NOT_INITIALIZED, closed::allocator);
        Failures.expect(CuFileError.DRIVER_NOT_INITIALIZED, () -> closed.batch(1));
        Failures.expect(CuFileError.DRIVER_NOT_INITIALIZED, () -> handle.read(memory.range(), 0));
        Failures.expect(CuFileError.DRIVER_NOT_INITIALIZED, () -> handle.write(memory.range(), 0));
        Failures.expect(CuFileError.DRIVER_NOT_INITIALIZED, handle::size);
        assertThat(buffer.isOpen()).isFalse();
        handle.close();
        buffer.close();
        memory.close();
    }

    @Test
    void sessionsAreIndependent() {
        GuardedFile file = newFile(100);
        try (CuFileDriver other = newDriver();
                MemoryAllocation memory = allocator().allocate(MemoryKind.HOST, PAGE);
                CuFileBuffer ours = driver().registerBuffer(memory.range());
                CuFileBuffer theirs = other.registerBuffer(memory.range());
                CuFileHandle handle = other.openFile(file.path())) {
            assertThat(handle.read(theirs, 0)).isEqualTo(100);
            Failures.expect(CuFileError.MEMORY_NOT_REGISTERED, () -> handle.read(ours, 0));
            assertThat(other.useCount()).isEqualTo(1);
        }
    }

    @Test
    void byteCountsByPathAndStagingStartAtZero() {
        GuardedFile file = newFile(10_000);
        try (CuFileDriver driver = newDriver();
                CuFileHandle handle = driver.openFile(file.path());
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, 20_000)) {
            assertThat(driver.bytesByPath().values().stream().mapToLong(Long::longValue).sum()).isZero();
            handle.read(memory.range(), 0);
            assertThat(driver.bytesByPath().values().stream().mapToLong(Long::longValue).sum()).isEqualTo(10_000);
            assertThat(driver.peakStagingBytes()).isBetween(0L, 1L << 30);
        }
    }

    @Test
    void bytesReadAndWrittenCountAtEveryLevel() {
        GuardedFile file = newFile(10_000);
        try (CuFileDriver driver = newDriver();
                CuFileHandle handle = driver.openFile(file.path(), StandardOpenOption.READ, StandardOpenOption.WRITE);
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, 8192)) {
            handle.read(memory);
            handle.read(memory, 8192);
            handle.write(memory);
            assertThat(driver.bytesRead()).isEqualTo(10_000);
            assertThat(driver.bytesWritten()).isEqualTo(8192);
        }
    }

    @Test
    void fileReportsItsIoPathAndTheReason() {
        GuardedFile file = newFile(10_000);
        for (Mode mode : Mode.values()) {
            try (CuFileHandle handle = openToRead(file, mode)) {
                assertThat(handle.ioPath().reason()).isNotBlank();
            }
        }
    }
}
