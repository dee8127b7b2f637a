package io.gds4j.loader.save;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.CuFileDriver;
import io.gds4j.config.CuFileConfig;
import io.gds4j.error.CuFileException;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.SafetensorsWriter;
import io.gds4j.loader.TensorPattern;
import io.gds4j.loader.TestFormat;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.FormatInput;
import io.gds4j.loader.format.Metadata;
import io.gds4j.loader.format.MetadataValue;
import io.gds4j.loader.format.TensorInfo;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Metadata of a checkpoint in a copy of it: which entries, with which types, in which files. */
class CopiedMetadataTest {
    @TempDir
    private Path folder;

    private final CuFileDriver driver = CuFileDriver.open(CuFileConfig.defaults(), "compat");

    @AfterEach
    void close() {
        driver.close();
    }

    /** A file of two tensors with metadata that a test chooses; keys that begin with {@code part.} describe the file. */
    private record Described(Metadata metadata) implements TestFormat {
        @Override
        public CheckpointFile read(FormatInput in) {
            List<TensorInfo> tensors = List.of(
                    new TensorInfo("a", DType.U8, List.of(100L), in.path(), 0, 100),
                    new TensorInfo("b", DType.U8, List.of(100L), in.path(), 100, 100));
            return CheckpointFile.of(in.path(), in.size(), 0, tensors, metadata);
        }

        @Override
        public boolean describesFiles(String key) {
            return key.startsWith("part.");
        }
    }

    private record Values(String elementType, List<MetadataValue> all) implements MetadataValue.Array {
        @Override
        public long size() {
            return all.size();
        }

        @Override
        public List<MetadataValue> values(long first, int count) {
            return all.subList((int) first, (int) first + count);
        }
    }

    private static MetadataValue text(String text) {
        return new MetadataValue.Text(text);
    }

    private Checkpoint checkpoint(Map<String, MetadataValue> metadata) throws IOException {
        Path file = Files.write(folder.resolve("source"), new byte[200]);
        return Checkpoint.open(file, new Described(Metadata.of(metadata)));
    }

    private Checkpoint copied(Map<String, MetadataValue> metadata) throws IOException {
        Path out = folder.resolve("out");
        SavePlan.builder().checkpoint(checkpoint(metadata)).options(SaveOptions.DEFAULTS.withMaxShardBytes(100))
                .toFolder(out).save(driver);
        return Checkpoint.open(out);
    }

    private static Object comparable(MetadataValue value) {
        return value instanceof MetadataValue.Array array
                ? Map.of(
                        array.elementType(),
                        array.values(0, (int) array.size()).stream().map(CopiedMetadataTest::comparable).toList())
                : value;
    }

    @Test
    void valuesKeepTheirTypes() throws IOException {
        Map<String, MetadataValue> values = new LinkedHashMap<>();
        values.put("whole", new MetadataValue.Whole(Long.MIN_VALUE, false));
        values.put("unsigned", new MetadataValue.Whole(-1, true));
        values.put("real", new MetadataValue.Real(1e-6f));
        values.put("nan", new MetadataValue.Real(Double.NaN));
        values.put("infinite", new MetadataValue.Real(Double.NEGATIVE_INFINITY));
        values.put("true", new MetadataValue.Truth(true));
        values.put("false", new MetadataValue.Truth(false));
        values.put("digits", text("7"));
        values.put("\"quoted\"\n", text("größe \ud83d\ude00 \u0001 \\"));
        values.put("empty", new Values("INT8", List.of()));
        values.put("wholes", new Values("INT32", List.of(
                new MetadataValue.Whole(-5, false), new MetadataValue.Whole(1L << 40, false))));
        values.put("unsigneds", new Values("UINT64", List.of(
                new MetadataValue.Whole(-1, true), new MetadataValue.Whole(0, true))));
        values.put("reals", new Values("FLOAT32", List.of(
                new MetadataValue.Real(0.5), new MetadataValue.Real(Double.NaN), new MetadataValue.Real(1e300))));
        values.put("truths", new Values("BOOL", List.of(
                new MetadataValue.Truth(true), new MetadataValue.Truth(false))));
        values.put("texts", new Values("STRING", Stream.concat(
                Stream.of("", "\"", "\\", "\n", "Ġtoken", "\ud83d\ude00", "NaN", "true"),
                Stream.iterate(0, i -> i + 1).limit(10_000).map(i -> "token" + i))
                .map(CopiedMetadataTest::text).toList()));
        values.put("nested", new Values("ARRAY", List.of(
                new Values("STRING", List.of(text("a"))),
                new Values("FLOAT64", List.of(new MetadataValue.Real(2))),
                new Values("ARRAY", List.of(new Values("INT64", List.of(new MetadataValue.Whole(3, false))))))));
        Metadata copied = copied(values).typedMetadata();
        assertThat(copied.keys()).containsExactlyInAnyOrderElementsOf(
                Stream.concat(values.keySet().stream(), Stream.of("format")).toList());
        values.forEach((key, value) -> assertThat(comparable(copied.get(key).orElseThrow())).as(key)
                .isEqualTo(comparable(value)));
        MetadataValue.Array texts = (MetadataValue.Array) copied.get("texts").orElseThrow();
        for (int first : new int[]{5000, 5002, 3, 5000}) {
            assertThat(texts.values(first, 2)).isEqualTo(((MetadataValue.Array) values.get("texts")).values(first, 2));
        }
        assertThatThrownBy(() -> texts.values(10_000, 9)).isInstanceOf(CuFileException.class)
                .hasMessageContaining("not within the array");
    }

    @Test
    void whatDescribesFilesIsLeftOut() throws IOException {
        Metadata copied = copied(Map.of(
                "part.number", new MetadataValue.Whole(3, false), "part.name", text("x"), "gds4j.crc32c", text("00"),
                "gds4j.metadata", text("no JSON"), "DCP_SHARDING_INFO", text("{}"), "model", text("llama")))
                .typedMetadata();
        assertThat(copied.keys()).containsExactlyInAnyOrder("format", "model");
    }

    /** transformers loads no file without a text {@code format}. */
    @Test
    void everyFileHasATextAsFormat() throws IOException {
        Checkpoint copied = copied(Map.of("format", new MetadataValue.Whole(3, false)));
        assertThat(copied.files()).hasSize(2)
                .allSatisfy(file -> assertThat(file.metadata()).containsEntry("format", "pt"));
    }

    @Test
    void textsAreInEveryFileAndOtherValuesInTheFirst() throws IOException {
        Checkpoint copied = copied(Map.of("text", text("x"), "layers", new MetadataValue.Whole(7, false)));
        assertThat(copied.files()).hasSize(2);
        assertThat(copied.files().getFirst().typedMetadata().keys()).containsExactlyInAnyOrder("format", "text",
                "layers");
        assertThat(copied.files().getLast().typedMetadata().keys()).containsExactlyInAnyOrder("format", "text");
    }

    @Test
    void laterEntriesReplaceEarlierOnes() throws IOException {
        Path file = folder.resolve("m.safetensors");
        SavePlan.builder()
                .metadata("layers", "many")
                .checkpoint(checkpoint(Map.of(
                        "layers", new MetadataValue.Whole(7, false), "heads", new MetadataValue.Whole(8, false))))
                .metadata("heads", "eight")
                .toFile(file).save(driver);
        Metadata saved = Checkpoint.open(file).typedMetadata();
        assertThat(saved.get("layers")).contains(new MetadataValue.Whole(7, false));
        assertThat(saved.get("heads")).contains(text("eight"));
        assertThatThrownBy(() -> SavePlan.builder().metadata("gds4j.metadata", "{}"))
                .isInstanceOf(CuFileException.class).hasMessageContaining("gds4j's own");
    }

    /** A header of another writer may have anything under our key: nothing of it is lost. */
    @ParameterizedTest
    @ValueSource(strings = {"", "no JSON", "[]", "{\"n\":7}", "{\"n\":\"whole\"", "{\"n\":[[[[", "{}}"})
    void entriesWithoutValidTypesAreTexts(String types) {
        Metadata read = written("7", types);
        assertThat(read.get("n")).contains(text("7"));
        assertThat(read.get("gds4j.metadata")).contains(text(types));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
            "seven | whole", "7 | other", "x | real", "-1 | unsigned", "1 | array", "[1] | array INT8 -1",
            "[1] | array INT8 x"})
    void valueThatIsNotOfItsTypeIsAText(String value, String type) {
        Metadata read = written(value, "{\"n\":\"%s\",\"missing\":\"whole\"}".formatted(type));
        assertThat(read.get("n")).contains(text(value));
        assertThat(read.keys()).containsExactly("n");
    }

    @ParameterizedTest
    @ValueSource(strings = {"[1,2]", "[]", "[1", "1", "[{}]", "[1] 2", "[99999999999999999999]", "[-]"})
    void brokenArrayFailsWhenItIsRead(String json) {
        MetadataValue.Array array =
                (MetadataValue.Array) written(json, "{\"n\":\"array INT8 1\"}").get("n").orElseThrow();
        assertThatThrownBy(() -> array.values(0, 1)).isInstanceOf(CuFileException.class)
                .hasMessageContaining("the array");
    }

    private Metadata written(String value, String types) {
        Path file = folder.resolve("w.safetensors");
        new SafetensorsWriter(file).metadata("n", value).metadata("gds4j.metadata", types)
                .tensor("t", DType.U8, 1).write(new TensorPattern(1));
        return Checkpoint.open(file).typedMetadata();
    }
}
