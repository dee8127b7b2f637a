package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gds4j.testkit.random.RandomRuns;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
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
            int sequences = new RandomRuns(name, gpu::backend, directory, FakeGpu.KINDS).run(PropertyTime.share());
            assertThat(sequences).isGreaterThanOrEqualTo(2);
        }
    }
}
