package io.gds4j.samples;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.Call;
import io.gds4j.testkit.FakeGpu;
import io.gds4j.testkit.GdsExtension;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

class GpuBranchTest {
    private final FakeGpu gpu = FakeGpu.builder().devices(2).bytesPerDevice(1 << 20).build();

    @RegisterExtension
    final GdsExtension gds = GdsExtension.over(gpu);

    @TempDir
    Path folder;

    /** The program under test: reads a file into memory of a GPU. */
    static MemoryAllocation load(CuFileDriver driver, Path path, int device) {
        try (CuFileHandle file = driver.openFile(path)) {
            MemoryAllocation memory = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, file.size(), device);
            try {
                file.readFully(memory, 0);
                return memory;
            } catch (RuntimeException e) {
                memory.close();
                throw e;
            }
        }
    }

    @Test
    void fileIsLoadedToTheSecondGpu() throws IOException {
        Path path = Files.writeString(folder.resolve("weights"), "0123456789");
        try (MemoryAllocation memory = load(gds.driver(), path, 1)) {
            byte[] bytes = gpu.segment(memory.range()).toArray(ValueLayout.JAVA_BYTE);
            assertArrayEquals(Files.readAllBytes(path), bytes);
        }
    }

    @Test
    void fileThatDoesNotFitIsOutOfMemory() throws IOException {
        Path path = Files.write(folder.resolve("weights"), new byte[(1 << 20) + 1]);
        CuFileException failure = assertThrows(CuFileException.class, () -> load(gds.driver(), path, 0));
        assertEquals(CuFileError.NOMEM_ERROR, failure.error());
    }

    @Test
    void failedReadFreesTheMemory() throws IOException {
        Path path = Files.write(folder.resolve("weights"), new byte[100_000]);
        gds.faults().on(Call.READ).fails(Errno.EIO);
        assertThrows(CuFileException.class, () -> load(gds.driver(), path, 0));
        assertEquals(1 << 20, gpu.availableBytes(0));
    }
}
