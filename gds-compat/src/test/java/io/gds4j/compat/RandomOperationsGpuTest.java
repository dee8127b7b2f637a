package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.ffi.cuda.CudaDriver;
import io.gds4j.ffi.cuda.CudaProgram;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.random.Campaign;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Random operations over every kind of GPU memory, with a real driver. */
@Tag("gpu")
class RandomOperationsGpuTest {
    private static final List<MemoryKind> KINDS = List.of(
            MemoryKind.CUDA_DEVICE,
            MemoryKind.CUDA_MANAGED,
            MemoryKind.CUDA_POOL,
            MemoryKind.CUDA_VMM,
            MemoryKind.HOST_PINNED,
            MemoryKind.HOST);

    @Test
    void bytesEqualAnIndependentCopy() throws IOException {
        for (Path parent : List.of(TestFolder.onDisk(), Path.of("/dev/shm"))) {
            Path directory = Files.createTempDirectory(parent, "gds4j-random");
            Campaign.Outcome outcome = new Campaign(
                    "GPU and " + parent, new CompatBackendProvider()::create, List.of(directory), KINDS)
                    .gpu(new CudaProgram(CudaDriver.detect().cudaContexts().orElseThrow()))
                    .run(PropertyTime.share());
            assertThat(outcome.operations()).isGreaterThan(100);
            Files.delete(directory);
        }
    }
}
