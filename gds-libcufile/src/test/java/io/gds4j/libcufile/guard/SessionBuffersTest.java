package io.gds4j.libcufile.guard;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.libcufile.SessionRig;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.FileSource;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The library learns of memory at its first transfer; transfers use refused memory unregistered. */
class SessionBuffersTest extends SessionRig {
    @Test
    void memoryIsShownToTheLibraryAtItsFirstTransfer() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 65536);
        backend.bufRegister(memory.range(), 1);
        assertThat(fake.callsOf("cuFileBufRegister")).isEmpty();

        BackendFile file = file();
        backend.read(file, memory.range(), 4096, 0, 4096);
        backend.read(file, memory.range(), 4096, 0, 0);

        assertThat(fake.callsOf("cuFileBufRegister"))
                .containsExactly("cuFileBufRegister(0x%x, 65536, 1)".formatted(memory.range().address()));
        backend.bufDeregister(memory.range());
        assertThat(fake.transfers().registeredBuffers()).isEmpty();
        assertThat(bytes(memory, 4096, 4096)).isEqualTo(expected(0, 4096));
    }

    @Test
    void memoryWithoutTransfersIsNeverShown() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 65536);
        backend.bufRegister(memory.range(), 0);
        backend.bufDeregister(memory.range());
        assertThat(fake.callsOf("cuFileBuf")).isEmpty();
        assertThat(fake.callsOf("cuFileBufRegister")).isEmpty();
    }

    @Test
    void refusedMemoryIsUsedUnregistered() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 65536);
        BackendFile file = file();
        fake.transfers().refuseBuffers(5036);
        backend.bufRegister(memory.range(), 0);

        assertThat(backend.read(file, memory.range(), 65536, 0, 0)).isEqualTo(65536);
        assertThat(backend.read(file, memory.range(), 65536, 0, 0)).isEqualTo(65536);

        assertThat(fake.callsOf("cuFileBufRegister")).as("tried once").hasSize(1);
        backend.bufDeregister(memory.range());
        assertThat(fake.callsOf("cuFileBufDeregister")).isEmpty();
    }

    @Test
    void registrationThatTheLibraryLostIsReleased() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 65536);
        backend.bufRegister(memory.range(), 0);
        backend.read(file(), memory.range(), 100, 0, 0);
        fake.transfers().loseBuffers();

        backend.bufDeregister(memory.range());
        assertThat(fake.callsOf("cuFileBufDeregister")).hasSize(1);
        backend.bufRegister(memory.range(), 0);
    }

    @Test
    void sessionsShareARegistrationUntilTheLastReleasesIt() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 65536);
        CuFileBackend other = machine.backend();
        other.driverOpen();
        BackendFile ours = file();
        BackendFile theirs = other.handleRegister(source(path));
        backend.bufRegister(memory.range(), 0);
        other.bufRegister(memory.range(), 0);
        backend.read(ours, memory.range(), 100, 0, 0);
        other.read(theirs, memory.range(), 100, 0, 0);
        assertThat(fake.callsOf("cuFileBufRegister")).hasSize(1);

        backend.bufDeregister(memory.range());
        assertThat(fake.transfers().registeredBuffers()).hasSize(1);
        other.driverClose();
        assertThat(fake.transfers().registeredBuffers()).isEmpty();
    }

    @Test
    void transferPastAShorterRegistrationIsServed() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 65536);
        BackendFile file = file();
        backend.bufRegister(memory.range().slice(0, 4096), 0);

        assertThat(backend.read(file, memory.range(), 65536, 9, 0)).isEqualTo(65536);
        assertThat(bytes(memory, 0, 65536)).isEqualTo(expected(9, 65536));
        assertThat(backend.read(file, memory.range(), 100, 50, 8000)).isEqualTo(100);
        assertThat(bytes(memory, 8000, 100)).isEqualTo(expected(50, 100));
    }

    @Test
    void deregisteringWaitsForTransfersFromTheSameBase() throws InterruptedException {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 65536);
        BackendFile file = file();
        backend.bufRegister(memory.range(), 0);
        backend.read(file, memory.range(), 1, 0, 0);
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
        Thread reader = Thread.ofPlatform().start(() -> backend.read(file, memory.range(), 65536, 0, 0));
        began.await();
        Thread closer = Thread.ofPlatform().start(() -> backend.bufDeregister(memory.range()));
        while (closer.getState() != Thread.State.WAITING) {
            Thread.onSpinWait();
        }
        assertThat(fake.callsOf("cuFileBufDeregister")).isEmpty();
        go.countDown();
        reader.join();
        closer.join();
        assertThat(fake.transfers().registeredBuffers()).isEmpty();
    }

    @Test
    void manyRegistrationsAreDistinguished() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 256 * 256);
        BackendFile file = file();
        List<MemoryRange> slices = new ArrayList<>();
        for (int i = 0; i < 256; i++) {
            slices.add(memory.range().slice((i * 101 % 256) * 256L, 256));
        }
        slices.forEach(slice -> backend.bufRegister(slice, 0));
        slices.forEach(slice -> backend.read(file, slice, 256, 0, 0));
        assertThat(fake.transfers().registeredBuffers()).hasSize(256);
        slices.subList(0, 128).forEach(backend::bufDeregister);
        assertThat(fake.transfers().registeredBuffers()).hasSize(128);
        slices.forEach(slice -> assertThat(backend.read(file, slice, 256, 0, 0)).isEqualTo(256));
        assertThat(fake.callsOf("cuFileBufRegister")).hasSize(256);
    }

    @ParameterizedTest
    @ValueSource(ints = {5008, 5027, 5030, 5034})
    void refusedFileNamesTheCodeAndTheKnownReason(int code) {
        fake.transfers().refuseFiles(code);
        CuFileException failure = failure(this::file);
        assertThat(failure.error().code()).isEqualTo(code);
        assertThat(failure.detail()).startsWith("libcufile does not take the file");
        assertThat(failure.path()).contains(path);
        fake.transfers().refuseFiles(0);
        assertThat(file().size()).isEqualTo(SIZE);
    }

    @Test
    void ownDescriptorStaysOpenAsLongAsTheHandle() {
        BackendFile file = file();
        int own = file.ownDescriptor().orElseThrow();
        assertThat(Path.of("/proc/self/fd/" + own)).exists();
        backend.handleDeregister(file);
        backend.handleDeregister(file);
        assertThat(Path.of("/proc/self/fd/" + own)).doesNotExist();
    }

    @Test
    void appendModeAndOtherTypesNeverReachTheLibrary() {
        expect(
                CuFileError.INVALID_FILE_TYPE,
                () -> backend.handleRegister(source(Path.of("/dev/null"))));
        expect(CuFileError.INVALID_FILE_TYPE, () -> backend.handleRegister(source(folder)));
        expect(CuFileError.INVALID_VALUE, () -> backend.handleRegister(new FileSource.Descriptor(9999)));
        assertThat(fake.callsOf("cuFileHandleRegister")).isEmpty();
    }

    @Test
    void fileSaysThatTheLibraryServesItByPosix() {
        assertThat(file().ioPath().toString()).contains("LIBCUFILE_POSIX").contains("nvidia-fs");
    }
}
