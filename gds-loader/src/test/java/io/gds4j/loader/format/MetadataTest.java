package io.gds4j.loader.format;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.SafetensorsWriter;
import io.gds4j.loader.TensorPattern;
import io.gds4j.loader.format.MetadataValue.Real;
import io.gds4j.loader.format.MetadataValue.Text;
import io.gds4j.loader.format.MetadataValue.Truth;
import io.gds4j.loader.format.MetadataValue.Whole;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Values of {@link Metadata} as Java's types. */
class MetadataTest {
    private record Values(String elementType, List<MetadataValue> all, long size) implements MetadataValue.Array {
        @Override
        public List<MetadataValue> values(long first, int count) {
            return all.subList((int) first, (int) first + count);
        }
    }

    private static Metadata metadata() {
        Map<String, MetadataValue> values = new LinkedHashMap<>();
        values.put("text", new Text("a\nb"));
        values.put("digits", new Text("-9223372036854775808"));
        values.put("decimal", new Text("1e-5"));
        values.put("whole", new Whole(-7, false));
        values.put("unsigned", new Whole(-1, true));
        values.put("real", new Real(0.1f));
        values.put("truth", new Truth(true));
        values.put("texts", new Values("STRING", List.of(new Text("<unk>"), new Text("")), 2));
        values.put("none", new Values("FLOAT32", List.of(), 0));
        values.put("mixed", new Values("LIST", List.of(new Text("a"), new Whole(1, false)), 2));
        values.put("huge", new Values("STRING", List.of(), 1L << 31));
        return Metadata.of(values);
    }

    private static void refuses(ThrowingCallable call, String message) {
        CuFileException refused = catchThrowableOfType(CuFileException.class, call);
        assertThat(refused).as(message).isNotNull();
        assertThat(refused.error()).isEqualTo(CuFileError.INVALID_VALUE);
        assertThat(refused).hasMessageContaining(message).extracting(Throwable::getMessage).asString()
                .doesNotContain("\n");
    }

    @Test
    void missingKeysAreEmpty() {
        Metadata metadata = metadata();
        assertThat(metadata.getLong("x")).isEmpty();
        assertThat(metadata.getDouble("x")).isEmpty();
        assertThat(metadata.getString("x")).isEmpty();
        assertThat(metadata.getStrings("x")).isEmpty();
    }

    @Test
    void valuesOfTheTypeAreReturned() {
        Metadata metadata = metadata();
        assertThat(metadata.getLong("whole")).hasValue(-7);
        assertThat(metadata.getLong("digits")).hasValue(Long.MIN_VALUE);
        assertThat(metadata.getDouble("real")).hasValue(0.1f);
        assertThat(metadata.getDouble("decimal")).hasValue(1e-5);
        assertThat(metadata.getDouble("whole")).hasValue(-7);
        assertThat(metadata.getDouble("unsigned")).hasValue(0x1p64);
        assertThat(metadata.getString("text")).contains("a\nb");
        assertThat(metadata.getStrings("texts")).contains(List.of("<unk>", ""));
        assertThat(metadata.getStrings("none")).contains(List.of());
    }

    @Test
    void otherTypesAreRefused() {
        Metadata metadata = metadata();
        refuses(() -> metadata.getLong("unsigned"),
                "the value of 'unsigned' is no whole number up to 2^63-1: '18446744073709551615'");
        refuses(() -> metadata.getLong("real"), "'real' is no whole number");
        refuses(() -> metadata.getLong("decimal"), "'decimal' is no whole number");
        refuses(() -> metadata.getLong("truth"), "'truth' is no whole number");
        refuses(() -> metadata.getDouble("text"), "the value of 'text' is no number: 'a\\nb'");
        refuses(() -> metadata.getDouble("truth"), "'truth' is no number: 'true'");
        refuses(() -> metadata.getDouble("texts"), "'texts' is no number: an array of 2 STRING");
        refuses(() -> metadata.getString("whole"), "'whole' is no text");
        refuses(() -> metadata.getString("texts"), "'texts' is no text");
        refuses(() -> metadata.getStrings("text"), "'text' is no array of texts");
        refuses(() -> metadata.getStrings("mixed"), "'mixed' is no array of texts");
        refuses(() -> metadata.getStrings("huge"), "'huge' is no array of texts: an array of 2147483648 STRING");
    }

    @Test
    void ggufHasTypedValues() throws Exception {
        Path file = Path.of(Checkpoint.class.getResource("gguf-py.gguf").toURI());
        Metadata metadata = Checkpoint.open(file).typedMetadata();
        assertThat(metadata.getDouble("llama.rope.freq_base")).hasValue(500_000);
        assertThat(metadata.getString("general.name")).contains("written by gguf-py");
        assertThat(metadata.getStrings("tokenizer.ggml.tokens").orElseThrow()).startsWith("<unk>", "▁a", "b", "ü");
        assertThat(Stream.of("llama.block_count", "llama.attention.head_count").map(metadata::getLong))
                .allMatch(number -> number.isEmpty() || number.getAsLong() > 0);
    }

    @Test
    void safetensorsHasNumbersAndArraysAsText(@TempDir Path folder) {
        Path file = folder.resolve("model.safetensors");
        new SafetensorsWriter(file)
                .metadata("step", "1200")
                .metadata("loss", "0.25")
                .metadata("labels", "[\"cat\", \"\\u00fc\"]")
                .metadata("none", "[]")
                .metadata("name", "cat")
                .metadata("numbers", "[\"cat\", 1]")
                .metadata("open", "[\"cat\"")
                .metadata("two", "[\"cat\"] []")
                .tensor("a", DType.F32, 1)
                .write(new TensorPattern(1));
        Metadata metadata = Checkpoint.open(file).typedMetadata();
        assertThat(metadata.getLong("step")).hasValue(1200);
        assertThat(metadata.getDouble("loss")).hasValue(0.25);
        assertThat(metadata.getString("step")).contains("1200");
        assertThat(metadata.getStrings("labels")).contains(List.of("cat", "ü"));
        assertThat(metadata.getStrings("none")).contains(List.of());
        for (String key : List.of("name", "step", "numbers", "open", "two")) {
            refuses(() -> metadata.getStrings(key), "the value of '%s' is no array of texts".formatted(key));
        }
    }
}
