package io.gds4j.samples;

import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;
import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileBuffer;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.dataset.RecordBatch;
import io.gds4j.dataset.RecordLoader;
import io.gds4j.dataset.source.RecordFiles;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.CheckpointVerifier;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.loader.TensorPattern;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.save.SavePlan;
import io.gds4j.memory.MemoryAllocation;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The first programs of the README and of the guides. */
class ReadmeExamplesTest {
    @TempDir
    private Path folder;

    @Test
    void firstExampleReadsTheWholeFile() throws IOException {
        Path file = Files.write(folder.resolve("data.bin"), new byte[12_345]);

        assertThat(outputOf(() -> ReadIntoGpu.main(new String[]{file.toString()})))
                .contains("12345 bytes, IoPathReport", "=24690");
    }

    @Test
    void programOfTheReadmeLoadsACheckpoint() {
        Path file = folder.resolve("model.safetensors");
        SavePlan.builder()
                .tensor("embed", DType.F32, new byte[60], 3, 5)
                .tensor("layers.0.weight", DType.BF16, new byte[154], 7, 11)
                .toFile(file).save();

        assertThat(outputOf(() -> LoadCheckpoint.main(new String[]{file.toString()})))
                .contains("'embed' F32[3, 5], 60 bytes", "'layers.0.weight' BF16[7, 11]", "2 tensors, 214 bytes in ",
                        "host memory by COMPAT");
    }

    @Test
    void everydayCallsOfTheReadmeDoWhatTheySay() throws IOException {
        Path model = folder.resolve("model.safetensors");
        SavePlan.builder()
                .generated("embed", DType.F32, new TensorPattern(0), 3, 5)
                .generated("layers.0.weight", DType.BF16, new TensorPattern(0), 7, 11)
                .toFile(model).save();
        Path data = Files.write(folder.resolve("data.bin"), new byte[40 * 4096]);
        Path copy = folder.resolve("copy.safetensors");

        String output = outputOf(() -> everydayCalls(model, data, copy));

        assertThat(output).contains("layers.0.weight BF16[7, 11], 154 bytes", "true PT", "32 records in MemoryRange",
                "8 records in ", "CuFileConfig[");
        assertThat(Checkpoint.open(copy).tensors().get("weight").shape()).containsExactly(7L, 11L);
        assertThat(Files.readAllBytes(data)).startsWith(7, 7, 7);
    }

    private static void everydayCalls(Path model, Path data, Path copy) {
        try (CuFileDriver driver = CuFileDriver.open();
                CuFileHandle file = driver.openFile(data, READ, WRITE);
                MemoryAllocation memory = driver.allocate(4096)) {
            Checkpoint checkpoint = Checkpoint.open(model); // reads headers only
            for (TensorInfo info : checkpoint) {
                System.out.println(info.name() + " " + info.dtype() + info.shape() + ", " + info.length() + " bytes");
            }
            try (LoadedTensors part = checkpoint.filter(name -> name.startsWith("layers.0.")).load(driver)) {
                float[] values = part.get("layers.0.weight").toFloatArray();
                Checkpoint.save(copy, plan -> plan.tensor("weight", values, 7, 11));
                System.out.println(CheckpointVerifier.verify(part).verified() + " " + part.report().duration());
            }
            try (CuFileBuffer buffer = driver.register(memory)) {
                memory.fill(7);
                file.write(buffer, 0);
                byte[] bytes = memory.toByteArray();
            }
            try (RecordLoader loader =
                    RecordLoader.builder(driver, RecordFiles.fixed(data, 4096), 32).shuffle(42).open()) {
                for (RecordBatch batch : loader) {
                    System.out.println(batch.count() + " records in " + batch.memory());
                }
            }
            System.out.println(driver.isDirectStorageAvailable() + " " + driver.config());
            System.out.println(driver.stats().bytesRead() + " bytes");
        }
    }

    @Test
    void examplesOfTheSavingGuideSaveAndVerify() {
        Path target = folder.resolve("saved");

        assertThat(outputOf(() -> SaveCheckpoint.main(new String[]{target.toString()})))
                .contains("1 tensors, 1 aligned", "verified: true", "blocked for");
        assertThat(target.resolve("step-2000/model.safetensors")).exists();
    }

    private static String outputOf(Runnable program) {
        PrintStream before = System.out;
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        System.setOut(new PrintStream(bytes, true, StandardCharsets.UTF_8));
        try {
            program.run();
        } finally {
            System.setOut(before);
        }
        return bytes.toString(StandardCharsets.UTF_8);
    }
}
