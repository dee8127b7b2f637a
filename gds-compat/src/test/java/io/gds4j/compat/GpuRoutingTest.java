package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.statistics.IoPath;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The choice of a backend for each file on a machine with libcufile and without nvidia-fs and p2pdma. */
@Tag("gpu")
class GpuRoutingTest {
    private static final int SIZE = 100_000;

    private static CuFileConfig config(boolean allow, boolean force) {
        return CuFileConfig.builder()
                .withoutEnvironment()
                .set(CuFileKeys.ALLOW_COMPAT_MODE, allow)
                .set(CuFileKeys.FORCE_COMPAT_MODE, force)
                .build();
    }

    /** Moves a file into the GPU and back; returns the path that served it. */
    private static CuFileHandle reads(CuFileDriver driver, Path folder) throws IOException {
        byte[] content = new byte[SIZE];
        new Random(7).nextBytes(content);
        Path file = Files.createTempFile(folder, "gds4j-routing", null);
        try (MemoryAllocation memory = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, SIZE)) {
            Files.write(file, content);
            CuFileHandle handle = driver.openFile(file);
            assertThat(handle.read(memory.range(), 0)).isEqualTo(SIZE);
            byte[] read = new byte[SIZE];
            driver.allocator().copyToHost(memory.range(), MemorySegment.ofArray(read));
            assertThat(read).isEqualTo(content);
            return handle;
        } finally {
            Files.delete(file);
        }
    }

    @Test
    void withoutDirectStorageCompatServesUnlessLibcufileIsNamed() throws IOException {
        try (CuFileDriver driver = CuFileDriver.open(config(true, false))) {
            assertThat(driver.backendName()).isEqualTo("compat");
            assertThat(reads(driver, TestFolder.onDisk()).ioPath().path()).isEqualTo(IoPath.COMPAT_BUFFERED);
        }
        try (CuFileDriver driver = CuFileDriver.open(config(true, false), "libcufile")) {
            assertThat(driver.backendName()).isEqualTo("libcufile");
            assertThat(driver.version()).isGreaterThanOrEqualTo(1150);
            CuFileHandle handle = reads(driver, TestFolder.onDisk());
            assertThat(handle.ioPath().path()).isEqualTo(IoPath.LIBCUFILE_POSIX);
            assertThat(handle.ioPath().reason()).contains("nvidia-fs is not loaded");
            assertThat(driver.bytesByPath()).containsEntry(IoPath.LIBCUFILE_POSIX, (long) SIZE);
        }
    }

    /** Libraries from 1.19 on take files without a block device. */
    @Test
    void fileThatLibcufileRefusesIsServedByCompatWithAReason() throws IOException {
        try (CuFileDriver driver = CuFileDriver.open(config(true, false), "libcufile")) {
            CuFileHandle handle = reads(driver, Path.of("/dev/shm"));
            if (driver.version() >= 1190) {
                assertThat(handle.ioPath().path()).isEqualTo(IoPath.LIBCUFILE_POSIX);
                return;
            }
            assertThat(handle.ioPath().path()).isEqualTo(IoPath.COMPAT_CACHED);
            assertThat(handle.ioPath().reason()).contains("libcufile does not take the file", "no block device");
        }
    }

    @Test
    void withoutCompatModeNoBackendServesUnlessForced() throws IOException {
        CuFileException failure = catchThrowableOfType(
                CuFileException.class, () -> CuFileDriver.open(config(false, false), "libcufile").close());
        assertThat(failure.error()).isEqualTo(CuFileError.DRIVER_NOT_INITIALIZED);
        try (CuFileDriver driver = CuFileDriver.open(config(false, true), "libcufile")) {
            assertThat(reads(driver, TestFolder.onDisk()).ioPath().path()).isEqualTo(IoPath.LIBCUFILE_POSIX);
        }
    }
}
