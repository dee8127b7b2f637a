package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gds4j.testkit.random.Campaign;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Random operations on the disk and in memory, with host memory and the memory of a fake GPU. */
class RandomOperationsTest {
    @Test
    void bytesOnDiskEqualAnIndependentCopy() throws IOException {
        Path directory = Files.createTempDirectory(TestFolder.onDisk(), "random");
        run("disk", directory);
        Files.delete(directory);
    }

    @Test
    void bytesInMemoryEqualAnIndependentCopy() throws IOException {
        Path shm = Path.of("/dev/shm");
        assumeTrue(Files.isWritable(shm), "tmpfs is not tested: no /dev/shm");
        Path directory = Files.createTempDirectory(shm, "gds4j-random");
        run("tmpfs", directory);
        Files.delete(directory);
    }

    private static void run(String name, Path directory) {
        try (FakeGpu gpu = new FakeGpu()) {
            Campaign.Outcome outcome = new Campaign(name, gpu::backend, List.of(directory), FakeGpu.KINDS)
                    .gpu(gpu.program())
                    .run(PropertyTime.share());
            assertThat(outcome.operations()).isGreaterThan(100);
        }
    }
}
