package io.gds4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Opening, sharing and closing a driver, also from several threads at once. */
@Timeout(120)
class DriverLifecycleTest {
    private static final MemoryRange MEMORY = MemoryRange.ofAddress(1 << 20, 1 << 16, MemoryKind.HOST);

    private final RecordingBackend backend = new RecordingBackend();

    @Test
    void lastUserClosesDriver() {
        CuFileDriver first = CuFileDriver.open(backend);
        CuFileDriver second = first.share();
        CuFileHandle handle = first.openFile(Path.of("a"));
        assertThat(second.useCount()).isEqualTo(2);

        first.close();
        assertThat(first.isOpen()).isFalse();
        assertThat(second.isOpen()).isTrue();
        assertThat(second.useCount()).isEqualTo(1);
        assertThat(handle.read(MEMORY, 0)).isEqualTo(1 << 16);
        assertThat(codeOf(first::properties)).isEqualTo(CuFileError.DRIVER_NOT_INITIALIZED);
        assertThat(codeOf(first::share)).isEqualTo(CuFileError.DRIVER_NOT_INITIALIZED);

        second.close();
        assertThat(second.useCount()).isZero();
        assertThat(handle.isOpen()).isFalse();
        assertThat(codeOf(second::share)).isEqualTo(CuFileError.DRIVER_NOT_INITIALIZED);
        assertThat(backend.callsOf("driverOpen", "driverClose", "handleDeregister"))
                .containsExactly("driverOpen", "driverOpen", "driverClose", "handleDeregister a", "driverClose");
    }

    @Test
    void secondCloseHasNoEffect() {
        CuFileDriver driver = CuFileDriver.open(backend);
        driver.close();
        driver.close();

        assertThat(backend.callsOf("driverClose")).hasSize(1);
    }

    @Test
    void secondCloseDoesNotEndAnotherUse() {
        CuFileDriver first = CuFileDriver.open(backend);
        CuFileDriver second = first.share();
        first.close();
        first.close();

        assertThat(second.useCount()).isEqualTo(1);
        assertThat(second.isOpen()).isTrue();
        second.close();
    }

    @Test
    void closeEndsBatchesAndStreamsBeforeFilesAndBuffers() {
        CuFileDriver driver = CuFileDriver.open(backend);
        CuFileBatch batch = driver.batch(4);
        driver.stream(7, Set.of());
        CuFileHandle handle = driver.openFile(Path.of("a"));
        driver.openFile(Path.of("b"));
        driver.registerBuffer(MEMORY);
        batch.submit(List.of(CuFileBatch.Request.read(handle, MEMORY, 8, 0, 0)));
        backend.calls.clear();

        driver.close();

        assertThat(backend.calls)
                .containsExactly(
                        "streamDeregister 7",
                        "batchIoDestroy",
                        "bufDeregister 65536",
                        "handleDeregister b",
                        "handleDeregister a",
                        "driverClose");
    }

    @Test
    void closedMembersAreNotClosedAgain() {
        CuFileDriver driver = CuFileDriver.open(backend);
        CuFileHandle handle = driver.openFile(Path.of("a"));
        handle.close();
        driver.close();
        handle.close();

        assertThat(backend.callsOf("handleDeregister")).hasSize(1);
    }

    @Test
    void failedOpenLeavesNothingOpen() {
        backend.during("driverOpen", () -> {
            throw CuFileException.of(CuFileError.NVFS_SETUP_ERROR, "cuFileDriverOpen", "no");
        });

        assertThat(codeOf(() -> CuFileDriver.open(backend))).isEqualTo(CuFileError.NVFS_SETUP_ERROR);
        assertThat(backend.calls).containsExactly("driverOpen");
    }

    @Test
    void failedShareChangesNothing() {
        CuFileDriver driver = CuFileDriver.open(backend);
        backend.during("driverOpen", () -> {
            throw CuFileException.of(CuFileError.NVFS_SETUP_ERROR, "cuFileDriverOpen", "no");
        });

        assertThat(codeOf(driver::share)).isEqualTo(CuFileError.NVFS_SETUP_ERROR);
        assertThat(driver.useCount()).isEqualTo(1);
        driver.close();
        assertThat(backend.callsOf("driverClose")).hasSize(1);
    }

    @Test
    void failingMemberDoesNotKeepOthersOpen() {
        CuFileDriver driver = CuFileDriver.open(backend);
        driver.openFile(Path.of("a"));
        driver.openFile(Path.of("b"));
        backend.during("handleDeregister", () -> {
            throw new IllegalStateException("device gone");
        });

        assertThatThrownBy(driver::close)
                .isInstanceOf(IllegalStateException.class)
                .satisfies(e -> assertThat(e.getSuppressed()).hasSize(1));
        assertThat(backend.callsOf("handleDeregister", "driverClose"))
                .containsExactly("handleDeregister b", "handleDeregister a", "driverClose");
        assertThat(driver.isOpen()).isFalse();
        driver.close();
    }

    @Test
    void closeWaitsForReadsInFlight() throws Exception {
        CuFileDriver driver = CuFileDriver.open(backend);
        CuFileHandle handle = driver.openFile(Path.of("a"));
        CountDownLatch inside = new CountDownLatch(1);
        CountDownLatch resume = new CountDownLatch(1);
        backend.during("read", () -> {
            inside.countDown();
            await(resume);
        });
        try (Threads threads = new Threads()) {
            Future<Long> read = threads.start(() -> handle.read(MEMORY, 0));
            inside.await();
            Future<Void> closed = threads.run(driver::close);
            threads.awaitParked();

            assertThat(closed).isNotDone();
            assertThat(codeOf(() -> handle.read(MEMORY, 0))).isEqualTo(CuFileError.DRIVER_NOT_INITIALIZED);
            assertThat(backend.callsOf("handleDeregister", "driverClose")).isEmpty();
            resume.countDown();

            assertThat(read.get(60, TimeUnit.SECONDS)).isEqualTo(1 << 16);
            closed.get(60, TimeUnit.SECONDS);
            assertThat(backend.callsOf("handleDeregister", "driverClose"))
                    .containsExactly("handleDeregister a", "driverClose");
        }
    }

    @Test
    void closeWaitsForRegistrationAndClosesItsHandle() throws Exception {
        CuFileDriver driver = CuFileDriver.open(backend);
        CountDownLatch inside = new CountDownLatch(1);
        CountDownLatch resume = new CountDownLatch(1);
        backend.during("handleRegister", () -> {
            inside.countDown();
            await(resume);
        });
        try (Threads threads = new Threads()) {
            Future<CuFileHandle> registered = threads.start(() -> driver.openFile(Path.of("a")));
            inside.await();
            Future<Void> closed = threads.run(driver::close);
            threads.awaitParked();
            assertThat(backend.callsOf("driverClose")).isEmpty();
            resume.countDown();

            closed.get(60, TimeUnit.SECONDS);
            assertThat(registered.get(60, TimeUnit.SECONDS).isOpen()).isFalse();
            assertThat(backend.calls)
                    .containsExactly("driverOpen", "handleRegister a", "handleDeregister a", "driverClose");
        }
    }

    /** A registration after the close would open the driver again, and nothing would close it. */
    @Test
    void closingDriverRefusesRegistrations() throws Exception {
        CuFileDriver driver = CuFileDriver.open(backend);
        driver.openFile(Path.of("a"));
        CountDownLatch inside = new CountDownLatch(1);
        CountDownLatch resume = new CountDownLatch(1);
        backend.during("handleDeregister", () -> {
            inside.countDown();
            await(resume);
        });
        try (Threads threads = new Threads()) {
            Future<Void> closed = threads.run(driver::close);
            inside.await();

            assertThat(codeOf(() -> driver.openFile(Path.of("b")))).isEqualTo(CuFileError.DRIVER_NOT_INITIALIZED);
            assertThat(codeOf(() -> driver.registerBuffer(MEMORY))).isEqualTo(CuFileError.DRIVER_NOT_INITIALIZED);
            assertThat(codeOf(() -> driver.batch(1))).isEqualTo(CuFileError.DRIVER_NOT_INITIALIZED);
            assertThat(codeOf(() -> driver.stream(1, Set.of()))).isEqualTo(CuFileError.DRIVER_NOT_INITIALIZED);
            assertThat(codeOf(driver::share)).isEqualTo(CuFileError.DRIVER_NOT_INITIALIZED);
            resume.countDown();
            closed.get(60, TimeUnit.SECONDS);
        }
        assertThat(backend.callsOf("handleRegister", "bufRegister", "driverOpen"))
                .containsExactly("driverOpen", "handleRegister a");
    }

    @Test
    void concurrentCloseWaitsUntilDriverIsClosed() throws Exception {
        CuFileDriver driver = CuFileDriver.open(backend);
        CountDownLatch inside = new CountDownLatch(1);
        CountDownLatch resume = new CountDownLatch(1);
        AtomicReference<String> order = new AtomicReference<>("");
        backend.during("driverClose", () -> {
            inside.countDown();
            await(resume);
            order.accumulateAndGet("closed ", String::concat);
        });
        try (Threads threads = new Threads()) {
            Future<Void> first = threads.run(driver::close);
            inside.await();
            Future<Void> second = threads.run(() -> {
                driver.close();
                order.accumulateAndGet("returned", String::concat);
            });
            threads.awaitParked();
            resume.countDown();
            second.get(60, TimeUnit.SECONDS);
            first.get(60, TimeUnit.SECONDS);
        }
        assertThat(order).hasValue("closed returned");
    }

    @Test
    void closeInsideOwnIoIsRefusedAndChangesNothing() {
        CuFileDriver driver = CuFileDriver.open(backend);
        CuFileHandle handle = driver.openFile(Path.of("a"));
        CuFileHandle other = driver.openFile(Path.of("b"));
        AtomicReference<CuFileException> ofDriver = new AtomicReference<>();
        AtomicReference<CuFileException> ofHandle = new AtomicReference<>();
        backend.during("read", () -> {
            ofDriver.set(catchThrowableOfType(CuFileException.class, driver::close));
            ofHandle.set(catchThrowableOfType(CuFileException.class, handle::close));
            other.close();
        });

        assertThat(handle.read(MEMORY, 0)).isEqualTo(1 << 16);

        assertThat(ofDriver.get().error()).isEqualTo(CuFileError.DRIVER_CLOSING);
        assertThat(ofDriver.get().errno()).hasValue(Errno.EBUSY);
        assertThat(ofHandle.get().error()).isEqualTo(CuFileError.IO_NOT_SUPPORTED);
        assertThat(other.isOpen()).isFalse();
        assertThat(handle.isOpen()).isTrue();
        assertThat(driver.isOpen()).isTrue();
        driver.close();
        assertThat(backend.callsOf("driverClose")).hasSize(1);
    }

    @Test
    void oneOfSeveralUsersMayCloseInsideIo() {
        CuFileDriver first = CuFileDriver.open(backend);
        CuFileDriver second = first.share();
        CuFileHandle handle = first.openFile(Path.of("a"));
        backend.during("read", second::close);

        handle.read(MEMORY, 0);

        assertThat(first.useCount()).isEqualTo(1);
        first.close();
    }

    @Test
    void memoryInUseOrRegisteredIsNotFreed() throws Exception {
        CuFileDriver driver = CuFileDriver.open(backend);
        CuFileHandle handle = driver.openFile(Path.of("a"));
        MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, 4096);
        AtomicReference<CuFileException> inside = new AtomicReference<>();
        backend.during("read", () -> inside.set(catchThrowableOfType(CuFileException.class, memory::close)));
        handle.read(memory.range(), 0);
        assertThat(inside.get().errno()).hasValue(Errno.EBUSY);

        CuFileBuffer buffer = driver.registerBuffer(memory.range());
        assertThat(codeOf(memory::close)).isEqualTo(CuFileError.IO_NOT_SUPPORTED);
        assertThat(backend.callsOf("free")).isEmpty();

        buffer.close();
        memory.close();
        assertThat(backend.callsOf("bufDeregister", "free")).containsExactly("bufDeregister 4096", "free 4096");
        driver.close();
    }

    @Test
    void closeReleasesRegisteredMemory() {
        CuFileDriver driver = CuFileDriver.open(backend);
        MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, 4096);
        CuFileBuffer buffer = driver.registerBuffer(memory.range());

        driver.close();

        assertThat(buffer.isOpen()).isFalse();
        memory.close();
        assertThat(backend.callsOf("bufDeregister", "driverClose", "free"))
                .containsExactly("bufDeregister 4096", "driverClose", "free 4096");
    }

    @Test
    void refusedRegistrationKeepsNothing() {
        CuFileDriver driver = CuFileDriver.open(backend);
        MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, 4096);
        backend.during("bufRegister", () -> {
            throw CuFileException.of(CuFileError.MEMORY_ALREADY_REGISTERED, "cuFileBufRegister", "twice");
        });

        assertThat(codeOf(() -> driver.registerBuffer(memory.range())))
                .isEqualTo(CuFileError.MEMORY_ALREADY_REGISTERED);
        memory.close();
        driver.close();
        assertThat(backend.callsOf("bufDeregister")).isEmpty();
        assertThat(backend.callsOf("free")).hasSize(1);
    }

    @Test
    void errorInBackendKeepsNothing() {
        CuFileDriver driver = CuFileDriver.open(backend);
        MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, 4096);
        CuFileHandle handle = driver.openFile(Path.of("a"));
        Runnable broken = () -> {
            throw new StackOverflowError();
        };
        backend.during("bufRegister", broken).during("read", broken);

        assertThatThrownBy(() -> driver.registerBuffer(memory.range())).isInstanceOf(StackOverflowError.class);
        assertThatThrownBy(() -> handle.read(memory.range(), 0)).isInstanceOf(StackOverflowError.class);

        memory.close();
        handle.close();
        driver.close();
        assertThat(backend.callsOf("free", "handleDeregister", "driverClose")).hasSize(3);
    }

    @Test
    void manyThreadsMayOpenUseAndCloseAtOnce() throws Exception {
        CuFileDriver root = CuFileDriver.open(backend);
        try (Threads threads = new Threads()) {
            CountDownLatch start = new CountDownLatch(1);
            List<Future<Void>> all = java.util.stream.IntStream.range(0, 8)
                    .mapToObj(i -> threads.start(() -> {
                        start.await();
                        for (int round = 0; round < 200; round++) {
                            try (CuFileDriver mine = root.share();
                                    CuFileHandle handle = mine.openFile(Path.of("f" + i));
                                    CuFileBuffer buffer = mine.registerBuffer(MEMORY)) {
                                handle.read(buffer, 8, 0, 0);
                                handle.write(MEMORY, 8, 0, 0);
                            }
                        }
                        return (Void) null;
                    }))
                    .toList();
            start.countDown();
            for (Future<Void> one : all) {
                one.get(60, TimeUnit.SECONDS);
            }
        }
        assertThat(root.useCount()).isEqualTo(1);
        root.close();
        assertThat(backend.callsOf("handleDeregister")).hasSize(1600);
        assertThat(backend.callsOf("bufDeregister")).hasSize(1600);
        assertThat(backend.callsOf("driverClose")).hasSize(1601);
        assertThat(backend.callsOf("driverOpen")).hasSize(1601);
    }

    /** In any interleaving each registration is undone once, before the driver closes. */
    @Test
    void driverClosedDuringCallsLeavesNothingRegistered() throws Exception {
        for (int round = 0; round < 100; round++) {
            RecordingBackend own = new RecordingBackend();
            CuFileDriver driver = CuFileDriver.open(own);
            CountDownLatch start = new CountDownLatch(1);
            try (Threads threads = new Threads()) {
                for (int i = 0; i < 3; i++) {
                    threads.start(() -> {
                        start.await();
                        try {
                            while (true) {
                                CuFileHandle handle = driver.openFile(Path.of("a"));
                                handle.read(MEMORY, 0);
                                handle.close();
                            }
                        } catch (CuFileException closed) {
                            return closed.error();
                        }
                    });
                }
                start.countDown();
                driver.close();
            }
            int registered = own.callsOf("handleRegister").size();
            assertThat(own.callsOf("handleDeregister")).hasSize(registered);
            assertThat(own.calls.getLast()).isEqualTo("driverClose");
            assertThat(own.callsOf("driverClose")).hasSize(1);
        }
    }

    @Test
    void countersCanBeReadAfterClose() {
        CuFileDriver driver = CuFileDriver.open(backend);
        CuFileStatistics statistics = driver.statistics();
        statistics.setLevel(1);
        driver.close();

        assertThat(driver.backendName()).isEqualTo("recording");
        assertThat(driver.version()).isEqualTo(1150);
        assertThat(driver.bytesByPath()).hasSize(1);
        assertThat(driver.peakStagingBytes()).isEqualTo(4096);
        assertThat(driver.toString()).isEqualTo("CuFileDriver[recording, closed]");
        assertThat(statistics.level()).isEqualTo(1);
        statistics.setLevel(0);
        assertThat(statistics.level()).isZero();
        assertThat(codeOf(statistics::start)).isEqualTo(CuFileError.DRIVER_NOT_INITIALIZED);
    }

    @Test
    void driverClosesWhileThreadAwaitsBatch() throws Exception {
        CuFileDriver driver = CuFileDriver.open(backend);
        CuFileBatch batch = driver.batch(2);
        CuFileHandle handle = driver.openFile(Path.of("a"));
        batch.submit(List.of(CuFileBatch.Request.read(handle, MEMORY, 8, 0, 0)));
        CountDownLatch inside = new CountDownLatch(1);
        CountDownLatch resume = new CountDownLatch(1);
        backend.during("batchIoGetStatus", () -> {
            inside.countDown();
            await(resume);
        });
        try (Threads threads = new Threads()) {
            Future<List<CuFileBatch.Completion>> taken =
                    threads.start(() -> batch.await(1, Duration.ofSeconds(1)));
            inside.await();
            Future<Void> closed = threads.run(driver::close);
            threads.awaitParked();
            resume.countDown();
            assertThat(taken.get(60, TimeUnit.SECONDS)).hasSize(1);
            closed.get(60, TimeUnit.SECONDS);
        }
        assertThat(backend.callsOf("driverClose")).hasSize(1);
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static CuFileError codeOf(org.assertj.core.api.ThrowableAssert.ThrowingCallable call) {
        return catchThrowableOfType(CuFileException.class, call).error();
    }
}
