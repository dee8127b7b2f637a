package io.gds4j.loader.save;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.CuFileDriver;
import io.gds4j.config.CuFileConfig;
import io.gds4j.error.CuFileException;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.loader.SafetensorsWriter;
import io.gds4j.loader.TensorPattern;
import io.gds4j.loader.format.DType;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Copies of checkpoints in which two tensors are the same bytes of a file. */
class SharedNamesTest {
    @TempDir
    private Path folder;

    private final CuFileDriver driver = CuFileDriver.open(CuFileConfig.defaults(), "compat");
    private Checkpoint tied;

    @BeforeEach
    void writeTiedTensors() throws IOException {
        byte[] bytes = new byte[3000];
        bytes[0] = 1;
        bytes[1500] = 2;
        Files.write(folder.resolve("bytes"), bytes);
        tied = Checkpoint.open(Files.writeString(folder.resolve("tied.json"), """
                {"schema": "gds4j.extents/1", "extents": [
                  {"name": "embed", "file": "bytes", "offset": 0, "bytes": 1500, "dtype": "U8", "shape": [1500]},
                  {"name": "head", "file": "bytes", "offset": 0, "bytes": 1500, "dtype": "U8", "shape": [1500]},
                  {"name": "norm", "file": "bytes", "offset": 1500, "bytes": 1500, "dtype": "U8", "shape": [1500]}]}
                """));
    }

    @AfterEach
    void close() {
        driver.close();
    }

    private SavePlan.Builder builder() {
        return SavePlan.builder().options(SaveOptions.DEFAULTS.withMaxShardBytes(2000));
    }

    @Test
    void eachNameIsWrittenOnDemand() {
        SavePlan once = builder().checkpoint(tied).toFolder(folder.resolve("once"));
        assertThat(once.furtherNames()).containsExactly("head");
        SavePlan all = builder().checkpointWithAllNames(tied).toFolder(folder.resolve("all"));
        assertThat(all.furtherNames()).isEmpty();
        assertThat(all.save(driver).tensors()).isEqualTo(3);
        assertThat(Checkpoint.open(folder.resolve("all")).metadata().keySet()).noneMatch(key -> key.contains("alias"));
    }

    @Test
    void tensorOfTwoNamesIsWrittenOnceAndReadByBoth() {
        Path first = folder.resolve("first");
        Path second = folder.resolve("second");
        builder().checkpoint(tied).toFolder(first).save(driver);
        SaveReport report = builder().checkpoint(Checkpoint.open(first)).toFolder(second).save(driver);
        assertThat(report.tensors()).isEqualTo(2);
        assertThat(report.files()).isEqualTo(2);
        try (LoadedTensors loaded = Checkpoint.load(second, driver)) {
            assertThat(loaded.names()).containsExactlyInAnyOrder("embed", "head", "norm");
            assertThat(loaded.segment("head").get(ValueLayout.JAVA_BYTE, 0)).isEqualTo((byte) 1);
            assertThat(loaded.segment("norm").get(ValueLayout.JAVA_BYTE, 0)).isEqualTo((byte) 2);
        }
    }

    @Test
    void anotherTensorOfEitherNameIsRefused() {
        for (String name : new String[]{"embed", "head"}) {
            assertExists(() -> builder().checkpoint(tied).tensor(name, DType.U8, new byte[5], 5));
            assertExists(() -> builder().tensor(name, DType.U8, new byte[5], 5).checkpoint(tied));
        }
        assertExists(() -> builder().checkpoint(tied).checkpoint(tied));
    }

    private static void assertExists(Runnable action) {
        assertThatThrownBy(action::run).isInstanceOf(CuFileException.class).hasMessageContaining("exists already");
    }

    @Test
    void nameForATensorThatIsNotThereIsAWarning() {
        Path file = folder.resolve("a.safetensors");
        new SafetensorsWriter(file).metadata("gds4j.alias.head", "embed").tensor("norm", DType.U8, 5)
                .write(new TensorPattern(1));
        Checkpoint checkpoint = Checkpoint.open(file);
        assertThat(checkpoint.tensors()).containsOnlyKeys("norm");
        assertThat(checkpoint.warnings()).singleElement().asString().contains("'head' for 'embed'");
    }
}
