package io.gds4j.samples;

import io.gds4j.CuFileDriver;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.save.ChecksumVerifier;
import io.gds4j.loader.save.Consistency;
import io.gds4j.loader.save.SaveOptions;
import io.gds4j.loader.save.SavePlan;
import io.gds4j.loader.save.SaveReport;
import io.gds4j.loader.save.ShardedSave;
import io.gds4j.loader.save.SnapshotMemory;
import io.gds4j.memory.MemoryAllocation;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/** The examples of docs/saving.md: saves tensors from GPU memory, or from host memory without a GPU. */
final class SaveCheckpoint {
    private SaveCheckpoint() {
    }

    /** Saves to the folder named by the first argument. */
    public static void main(String[] args) {
        Path folder = Path.of(args[0]);
        try (CuFileDriver driver = CuFileDriver.open();
                MemoryAllocation weights = driver.allocator().allocate(driver.allocator().best(), 4096 * 1024 * 2)) {
            saveOnce(driver, weights, folder);
            saveInTheBackground(driver, weights, folder);
            saveTogether(driver, weights, folder.resolve("together"), 0, 1, 1);
        }
    }

    private static void saveOnce(CuFileDriver driver, MemoryAllocation weights, Path folder) {
        SavePlan plan = SavePlan.builder()
                .tensor("model.embed.weight", DType.BF16, weights, 4096, 1024)
                .options(SaveOptions.DEFAULTS.withChecksums(true))
                .toFolder(folder);
        SaveReport report = plan.save(driver);
        System.out.printf("%d tensors, %d aligned, %.1f GB/s%n",
                report.tensors(), report.alignedTensors(), report.bytesPerSecond() / 1e9);
        System.out.println("verified: " + ChecksumVerifier.verify(folder).verified());
    }

    private static void saveInTheBackground(CuFileDriver driver, MemoryAllocation weights, Path folder) {
        SavePlan plan = SavePlan.builder()
                .tensor("model.embed.weight", DType.BF16, weights, 4096, 1024)
                .options(SaveOptions.DEFAULTS.withConsistency(Consistency.HOST_SNAPSHOT))
                .toFolder(folder);
        try (SnapshotMemory memory = SnapshotMemory.allocate(driver, plan)) {
            for (int step = 1000; step <= 2000; step += 1000) {
                Path target = folder.resolve("step-" + step);
                CompletableFuture<SaveReport> saved =
                        plan.withTarget(target).withSnapshotMemory(memory).saveAsync(driver);
                // training goes on here: the call returned when the copy was complete
                System.out.printf("blocked for %.3f s%n", saved.join().blockedSeconds());
            }
        }
    }

    /** Saves as one of several processes, each with tensors of its own. */
    private static void saveTogether(
            CuFileDriver driver, MemoryAllocation weights, Path folder, int rank, int world, long attempt) {
        SavePlan.Builder mine =
                SavePlan.builder().tensor("layers." + rank + ".weight", DType.BF16, weights, 4096, 1024);
        if (rank == 0) {
            try (ShardedSave save = ShardedSave.begin(folder, attempt)) {
                mine.toFile(save.part(0)).save(driver);
                save.commit(world, Duration.ofMinutes(10)); // waits for the other ranks
            }
        } else {
            Path part = ShardedSave.join(folder, rank, attempt, Duration.ofMinutes(2)); // waits for rank 0
            mine.toFile(part).save(driver);
        }
    }
}
