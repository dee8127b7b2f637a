package io.gds4j.samples;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.loader.SafetensorsWriter;
import io.gds4j.loader.format.DType;
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
        new SafetensorsWriter(file)
                .tensor("embed", DType.F32, 3, 5)
                .tensor("layers.0.weight", DType.BF16, 7, 11)
                .writeSparse();

        assertThat(outputOf(() -> LoadCheckpoint.main(new String[]{file.toString()})))
                .contains("'embed' F32[3, 5], 60 bytes", "'layers.0.weight' BF16[7, 11]", "2 tensors, 214 bytes in ",
                        "host memory by COMPAT");
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
