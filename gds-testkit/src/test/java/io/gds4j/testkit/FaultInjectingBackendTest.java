package io.gds4j.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.memory.MemoryKind;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
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
}
