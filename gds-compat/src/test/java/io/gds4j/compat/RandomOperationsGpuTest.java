package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.random.RandomRuns;
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
            int sequences = new RandomRuns(
                    "GPU and " + parent, new CompatBackendProvider()::create, directory, KINDS)
                    .run(PropertyTime.share());
            assertThat(sequences).isGreaterThanOrEqualTo(2);
            Files.delete(directory);
        }
    }
}
