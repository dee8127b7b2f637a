package io.gds4j.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** The extension as an annotation: tests take what they need as parameters. */
@ExtendWith(GdsExtension.class)
class GdsExtensionParametersTest {
    @TempDir
    Path folder;

    private int before;

    @BeforeEach
    void takesParametersToo(FakeGpu gpu) {
        before = gpu.devices();
    }

    @Test
    void testHasOneGpu(CuFileDriver driver, FakeGpu gpu, FaultInjectingBackend faults) throws IOException {
        assertThat(gpu.devices()).isEqualTo(before).isEqualTo(1);
        Path path = Files.write(folder.resolve("file"), new byte[10]);
        faults.on(Call.READ).nth(2).fails(Errno.EIO);
        try (CuFileHandle file = driver.openFile(path);
                MemoryAllocation memory = driver.allocator().allocate(10)) {
            assertThat(memory.range().kind()).isEqualTo(MemoryKind.CUDA_DEVICE);
            assertThat(file.read(memory)).isEqualTo(10);
            assertThatThrownBy(() -> file.read(memory)).isInstanceOf(CuFileException.class);
        }
    }

    @Test
    @FakeGpus(3)
    void methodSetsTheNumberOfGpus(CuFileDriver driver, FakeGpu gpu) {
        assertThat(gpu.devices()).isEqualTo(before).isEqualTo(3);
        driver.allocator().allocate(MemoryKind.CUDA_DEVICE, 100, 2).close();
    }

    @Nested
    @FakeGpus(2)
    class WithTwo {
        @Test
        void classSetsTheNumberOfGpus(FakeGpu gpu) {
            assertThat(gpu.devices()).isEqualTo(2);
        }
    }
}
