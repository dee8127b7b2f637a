package io.gds4j.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.ScatterCopy;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FaultInjectingBackendTest {
    private final FaultInjectingBackend backend = new FaultInjectingBackend(new ReferenceBackend());

    @TempDir
    Path directory;

    private CuFileDriver driver;
    private GuardedFile file;
    private GuardedMemory memory;

    @BeforeEach
    void open() {
        driver = CuFileDriver.open(backend);
        file = GuardedFile.create(directory.resolve("file"), 10_000, 1);
        memory = GuardedMemory.allocate(driver.allocator(), MemoryKind.HOST, 4096);
    }

    @AfterEach
    void close() {
        memory.close();
        driver.close();
    }

    private CuFileHandle handle() {
        return driver.openFile(file.path(), StandardOpenOption.READ, StandardOpenOption.WRITE);
    }

    @Test
    void failsOnlyTheChosenRead() {
        backend.failRead(2, Errno.EIO);
        try (CuFileHandle handle = handle()) {
            assertThat(handle.read(memory.range(), 0)).isEqualTo(4096);
            Failures.expect(CuFileError.IO_ERROR, Errno.EIO, () -> handle.read(memory.range(), 0));
            assertThat(handle.read(memory.range(), 0)).isEqualTo(4096);
        }
        assertThat(backend.readCount()).isEqualTo(3);
    }

    @Test
    void failsAScatteredReadAfterSomeBytes() {
        backend.failRead(1, Errno.EIO, 100);
        List<ScatterCopy> halves = List.of(
                new ScatterCopy(0, 64, memory.range(), 64), new ScatterCopy(64, 64, memory.range(), 0));
        try (CuFileHandle handle = handle()) {
            CuFileException failure = Failures.expect(
                    CuFileError.IO_ERROR, Errno.EIO, () -> handle.readScattered(0, 128, halves));
            assertThat(failure.bytesTransferred()).isEqualTo(100);
            assertThat(handle.readScattered(0, 128, halves)).isEqualTo(128);
        }
    }

    @Test
    void failsAWriteAfterSomeBytes() {
        backend.failWrite(1, Errno.ENOSPC, 100);
        try (CuFileHandle handle = handle()) {
            CuFileException failure =
                    Failures.expect(CuFileError.IO_ERROR, Errno.ENOSPC, () -> handle.write(memory.range(), 5_000));
            assertThat(failure.bytesTransferred()).isEqualTo(100);
            assertThat(failure.path()).contains(file.path());
        }
        file.expectWrite(5_000, memory.expected(0, 100));
        file.verify();
        assertThat(backend.writeCount()).isEqualTo(1);
    }

    @Test
    void failsARegistration() {
        backend.failRegistration(1, Errno.EACCES);
        Failures.expect(CuFileError.PERMISSION_DENIED, Errno.EACCES, this::handle);
        try (CuFileHandle handle = handle()) {
            assertThat(handle.size()).isEqualTo(10_000);
        }
        assertThat(backend.registrationCount()).isEqualTo(2);
    }

    @Test
    void failsARegistrationOfMemory() {
        backend.failBufferRegistration(1, CuFileError.GPU_MEMORY_PINNING_FAILED);
        CuFileException failure = Failures.expect(
                CuFileError.GPU_MEMORY_PINNING_FAILED, () -> driver.registerBuffer(memory.range()));
        assertThat(failure.function()).isEqualTo("cuFileBufRegister");
        driver.registerBuffer(memory.range()).close();
        assertThat(backend.bufferRegistrationCount()).isEqualTo(2);
    }

    @Test
    void holdsAReadUntilTheGateOpens() throws InterruptedException {
        Gate gate = backend.holdRead(1);
        try (CuFileHandle handle = handle()) {
            Thread reader = Thread.ofPlatform().start(() -> handle.read(memory.range(), 0));
            gate.awaitArrival();
            assertThat(gate.hasArrival()).isTrue();
            memory.verify();
            assertThat(backend.readCount()).isEqualTo(1);
            gate.open();
            reader.join();
            memory.expect(0, file.expected(0, 4096));
            memory.verify();
        }
    }

    @Test
    void plansForPastCallsAreRefused() {
        try (CuFileHandle handle = handle()) {
            handle.read(memory.range(), 0);
        }
        assertThatIllegalArgumentException().isThrownBy(() -> backend.failRead(1, Errno.EIO));
        assertThatIllegalArgumentException().isThrownBy(() -> backend.failRead(2, 0));
        assertThatIllegalArgumentException().isThrownBy(() -> backend.holdRead(0));
    }

    @Test
    void readsOfOneFileFailFromTheChosenCallOn() {
        GuardedFile other = GuardedFile.create(directory.resolve("other"), 10_000, 2);
        PlannedFault fault = backend.on(Call.reads()).file(Path.of("other")).nth(2).times(2).fails(Errno.EIO);
        try (CuFileHandle healthy = handle();
                CuFileHandle broken = driver.openFile(other.path(), StandardOpenOption.READ)) {
            assertThat(broken.read(memory.range(), 0)).isEqualTo(4096);
            Failures.expect(CuFileError.IO_ERROR, Errno.EIO, () -> broken.read(memory.range(), 0));
            assertThat(healthy.read(memory.range(), 0)).isEqualTo(4096);
            Failures.expect(CuFileError.IO_ERROR, Errno.EIO, () -> broken.read(memory.range(), 0));
            assertThat(broken.read(memory.range(), 0)).isEqualTo(4096);
        }
        assertThat(fault.hits()).isEqualTo(2);
        backend.verify();
    }

    @Test
    void sameSeedHitsTheSameCalls() {
        assertThat(failedReads(7)).isEqualTo(failedReads(7)).isNotEqualTo(failedReads(8)).hasSizeBetween(20, 80);
    }

    private List<Integer> failedReads(long seed) {
        FaultInjectingBackend flaky = new FaultInjectingBackend(new ReferenceBackend());
        flaky.on(Call.READ).probability(0.5, seed).fails(Errno.EIO);
        List<Integer> failed = new ArrayList<>();
        try (CuFileDriver own = CuFileDriver.open(flaky);
                CuFileHandle handle = own.openFile(file.path(), StandardOpenOption.READ)) {
            for (int call = 0; call < 100; call++) {
                try {
                    handle.read(memory.range(), 0);
                } catch (CuFileException e) {
                    failed.add(call);
                }
            }
        }
        return failed;
    }

    @Test
    void futureFailsAsPlanned() {
        backend.on(Call.READ).after(10).fails(Errno.EIO);
        try (CuFileHandle handle = handle()) {
            assertThatThrownBy(() -> handle.readAsync(memory.range(), 4096, 0, 0).get())
                    .hasCauseInstanceOf(CuFileException.class)
                    .hasMessageContaining("EIO");
        }
        memory.expect(0, file.expected(0, 10));
        memory.verify();
    }

    @Test
    void vectoredCallsFailAsPlanned() {
        backend.on(Call.READV).fails(Errno.EIO);
        backend.on(Call.WRITEV).fails(CuFileError.GPU_MEMORY_PINNING_FAILED);
        try (CuFileHandle handle = handle()) {
            Failures.expect(CuFileError.IO_ERROR, Errno.EIO, () -> handle.readv(List.of(memory.range()), 0));
            Failures.expect(
                    CuFileError.GPU_MEMORY_PINNING_FAILED, () -> handle.writev(List.of(memory.range()), 0));
        }
        backend.verify();
    }

    @Test
    void openFailsOnlyForTheNamedFile() {
        backend.on(Call.OPEN).file(Path.of("other")).always().fails(Errno.EACCES);
        CuFileException failure = Failures.expect(
                CuFileError.PERMISSION_DENIED,
                Errno.EACCES,
                () -> driver.openFile(directory.resolve("other"), StandardOpenOption.READ));
        assertThat(failure.path()).contains(directory.resolve("other"));
        handle().close();
    }

    @Test
    void syncTruncateAndCloseFailAsPlanned() {
        backend.on(Call.FSYNC).fails(Errno.EIO);
        backend.on(Call.TRUNCATE).fails(Errno.ENOSPC);
        backend.on(Call.RESERVE).fails(Errno.ENOSPC);
        backend.on(Call.CLOSE).fails(Errno.EDQUOT);
        CuFileHandle handle = handle();
        Failures.expectErrno(Errno.EIO, () -> handle.force(true));
        Failures.expectErrno(Errno.ENOSPC, () -> handle.reserve(1 << 20));
        Failures.expectErrno(Errno.ENOSPC, () -> handle.truncate(1));
        assertThat(handle.size()).isEqualTo(10_000);
        Failures.expectErrno(Errno.EDQUOT, handle::close);
        assertThat(handle.isOpen()).isFalse();
        backend.verify();
    }

    @Test
    void allocationFailsAsPlanned() {
        backend.on(Call.ALLOCATE).nth(2).fails(CuFileError.NOMEM_ERROR);
        driver.allocator().allocate(MemoryKind.HOST, 100).close();
        CuFileException failure =
                Failures.expect(CuFileError.NOMEM_ERROR, () -> driver.allocator().allocate(MemoryKind.HOST, 123));
        assertThat(failure.size()).hasValue(123);
        driver.allocator().allocate(MemoryKind.HOST, 100).close();
    }

    @Test
    void latencyDelaysEveryRead() {
        Duration latency = Duration.ofMillis(20);
        backend.on(Call.READ).always().delays(latency);
        try (CuFileHandle handle = handle()) {
            long start = System.nanoTime();
            handle.read(memory.range(), 0);
            handle.read(memory.range(), 0);
            assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThanOrEqualTo(latency.multipliedBy(2));
        }
    }

    @Test
    void slowCallCanFailToo() {
        PlannedFault slow = backend.on(Call.READ).always().delays(Duration.ofMillis(1));
        backend.on(Call.READ).fails(Errno.EIO);
        try (CuFileHandle handle = handle()) {
            Failures.expectErrno(Errno.EIO, () -> handle.read(memory.range(), 0));
        }
        assertThat(slow.hits()).isEqualTo(1);
    }

    @Test
    void faultThatNeverHappenedIsReported() {
        backend.on(Call.FSYNC).file(Path.of("other")).fails(Errno.EIO);
        backend.on(Call.READ).nth(2).delays(Duration.ofMillis(1));
        backend.failWrite(3, Errno.ENOSPC);
        backend.on(Call.CLOSE);
        try (CuFileHandle handle = handle()) {
            handle.read(memory.range(), 0);
        }
        assertThatThrownBy(backend::verify)
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("4 planned faults never happened")
                .hasMessageContaining("FSYNC of other fails with EIO: hit 0 of 0 matching calls")
                .hasMessageContaining("READ, from call 2 on, waits PT0.001S: hit 0 of 1 matching calls")
                .hasMessageContaining("WRITE 3 fails with ENOSPC")
                .hasMessageContaining("CLOSE has no outcome");
    }

    @Test
    void faultCannotChangeOnceItIsEffective() {
        PlannedFault fault = backend.on(Call.READ).fails(Errno.EIO);
        assertThatIllegalStateException().isThrownBy(() -> fault.nth(2));
        assertThatIllegalStateException().isThrownBy(fault::holds);
    }

    @Test
    void impossibleFaultsAreRefused() {
        PlannedFault fault = backend.on(Call.READ);
        assertThatIllegalArgumentException().isThrownBy(() -> fault.nth(0));
        assertThatIllegalArgumentException().isThrownBy(() -> fault.times(0));
        assertThatIllegalArgumentException().isThrownBy(() -> fault.probability(0, 1));
        assertThatIllegalArgumentException().isThrownBy(() -> fault.probability(Double.NaN, 1));
        assertThatIllegalArgumentException().isThrownBy(() -> fault.after(-1));
        assertThatIllegalArgumentException().isThrownBy(() -> fault.fails(0));
        assertThatIllegalArgumentException().isThrownBy(() -> fault.fails(CuFileError.SUCCESS));
        assertThatIllegalArgumentException().isThrownBy(() -> fault.delays(Duration.ofNanos(-1)));
        assertThatIllegalArgumentException().isThrownBy(() -> backend.on(Set.of()));
    }
}
