package io.gds4j.libcufile;

import io.gds4j.config.CuFileConfig;
import io.gds4j.ffi.cufile.GpuMachine;
import io.gds4j.memory.MemoryKind;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The misuse storm over NVIDIA's library. No call that reaches the library crashes or hangs. */
@Tag("gpu")
class GpuMisuseTest {
    @Test
    void everyCallEndsWithAValueOrADocumentedException() throws IOException, InterruptedException {
        Path folder = Files.createTempDirectory(GpuMachine.directory(), "storm");
        try {
            new MisuseStorm(
                    () -> new LibCuFileBackendProvider().create(CuFileConfig.defaults()),
                    List.of(MemoryKind.CUDA_DEVICE, MemoryKind.HOST, MemoryKind.HOST_PINNED, MemoryKind.CUDA_MANAGED),
                    folder,
                    Long.getLong("gds4j.property.seed", System.nanoTime()))
                    .run(Duration.ofSeconds(Long.getLong("gds4j.property.seconds", 15)));
        } finally {
            GpuMachine.deleteTree(folder);
        }
    }
}
