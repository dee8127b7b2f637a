package io.gds4j.loader.save;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.format.DType;
import io.gds4j.memory.MemoryKind;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Saves from the memory of a GPU. */
@Tag("gpu")
@Timeout(120)
class GpuSaveTest {
    @TempDir
    Path folder;

    private final CuFileDriver driver = CuFileDriver.open();

    @AfterEach
    void close() {
        driver.close();
    }

    private Tensors tensors(MemoryKind kind) {
        return new Tensors(driver, 1, kind)
                .add("a", DType.BF16, 8192, 4096)
                .add("b", DType.F32, 3)
                .add("c", DType.U8, 4097)
                .add("d", DType.U8, 30_000_001);
    }

    @ParameterizedTest
    @EnumSource
    void tensorsMayChangeWhenTheyAreReleased(Consistency mode) {
        SaveOptions options = SaveOptions.DEFAULTS
                .withConsistency(mode)
                .withChecksums(true)
                .withMaxShardBytes(50_000_000);
        try (Tensors tensors = tensors(MemoryKind.CUDA_DEVICE)) {
            SavePlan plan = tensors.plan().options(options).after(0).toFolder(folder);
            CompletableFuture<SaveReport> saved = plan.saveAsync(driver);
            if (mode != Consistency.STOP) {
                tensors.fill((byte) 9);
            }
            assertThat(saved.join().tensors()).isEqualTo(4);
            tensors.check(folder);
            assertThat(ChecksumVerifier.verify(folder).verified()).isTrue();
        }
    }

    @ParameterizedTest
    @EnumSource(value = MemoryKind.class,
            names = {"CUDA_DEVICE", "CUDA_MANAGED", "CUDA_POOL", "CUDA_VMM", "HOST_PINNED"})
    void tensorsOfEveryKindOfMemoryAreSaved(MemoryKind kind) {
        try (Tensors tensors = tensors(kind)) {
            for (boolean direct : new boolean[]{true, false}) {
                tensors.plan().options(SaveOptions.DEFAULTS.withDirect(direct)).toFolder(folder).save(driver);
                tensors.check(folder);
            }
        }
    }

    @Test
    void checkpointIsCopiedThroughGpuMemory() {
        try (Tensors tensors = tensors(MemoryKind.HOST)) {
            tensors.plan().toFolder(folder.resolve("old")).save(driver);
            SavePlan.builder()
                    .checkpoint(Checkpoint.open(folder.resolve("old")))
                    .options(SaveOptions.DEFAULTS.withStagingDevice(0).withAlign(8))
                    .toFolder(folder.resolve("new"))
                    .save(driver);
            tensors.check(folder.resolve("new"));
        }
    }
}
