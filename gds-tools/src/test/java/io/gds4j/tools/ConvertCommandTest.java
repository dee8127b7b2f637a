package io.gds4j.tools;

import static io.gds4j.tools.GdsRun.gds;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.gds4j.loader.save.ChecksumVerifier;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ConvertCommandTest {
    private static final List<String> FIELDS = List.of(
            "schema", "path", "destination", "format", "files", "tensors", "bytes", "seconds", "driverOpenSeconds",
            "bytesPerSecond", "alignedTensors", "backend", "ioPaths", "warnings");

    @TempDir
    private Path folder;

    private Path source;
    private Path destination;

    @BeforeEach
    void make() {
        source = TestCheckpoints.odd(folder.resolve("model.safetensors"));
        destination = folder.resolve("new/folder");
    }

    private static List<String> names(Path folder) throws IOException {
        try (Stream<Path> entries = Files.list(folder)) {
            return entries.map(entry -> entry.getFileName().toString()).sorted().toList();
        }
    }

    private JsonNode convert(String... options) {
        String[] arguments = Stream.concat(
                Stream.of("convert", source.toString(), destination.toString(), "--json"), Stream.of(options))
                .toArray(String[]::new);
        GdsRun run = gds(arguments);
        assertThat(run.status()).as(run.err()).isZero();
        return run.json();
    }

    @Test
    void jsonHasEveryFieldAndTheFileIsAligned() throws IOException {
        JsonNode json = convert();
        assertThat(json.fieldNames()).toIterable().containsExactlyElementsOf(FIELDS);
        assertThat(json.get("files").asInt()).isEqualTo(1);
        assertThat(json.get("tensors").asInt()).isEqualTo(7);
        assertThat(json.get("alignedTensors").asInt()).isPositive();
        assertThat(json.get("seconds").asDouble()).isPositive();
        assertThat(names(destination)).containsExactly("model.safetensors");
        assertThat(TestCheckpoints.digests(destination.resolve("model.safetensors")))
                .isEqualTo(TestCheckpoints.digests(source));
    }

    @Test
    void shardsReplaceOneFileAndKeepOtherFiles() throws IOException {
        convert();
        Files.writeString(destination.resolve("config.json"), "{}");
        JsonNode json = convert("--max-shard", "100K", "--align", "8");
        assertThat(json.get("files").asInt()).isEqualTo(2);
        assertThat(names(destination)).containsExactly(
                "config.json", "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
                "model.safetensors.index.json");
        GdsRun loaded = gds("load", destination.toString(), "-t", "host", "--verify", "--json");
        assertThat(loaded.json().get("tensors").asInt()).isEqualTo(7);
        assertThat(loaded.json().get("verified").asBoolean()).isTrue();
    }

    @Test
    void checksumsAreWrittenAndComparedWithTheDisk() {
        JsonNode json = convert("--checksums");
        assertThat(json.get("verified").asBoolean()).isTrue();
        assertThat(ChecksumVerifier.verify(destination).verified()).isTrue();
        GdsRun run = gds("convert", source.toString(), destination.toString(), "--checksums", "--max-shard", "100K");
        assertThat(run.status()).isZero();
        assertThat(run.out()).contains("read back, checksums equal");
    }

    @Test
    void textNamesSourceAndDestination() {
        GdsRun run = gds("convert", source.toString(), destination.toString());
        assertThat(run.status()).isZero();
        assertThat(run.out()).contains(source.toString()).contains(destination.toString()).contains("7 at a multiple");
    }

    @ParameterizedTest
    @CsvSource({"--align 100, 2, power of two", "--max-shard 0, 2, shard", "--gpu 7, 4, gpu:7"})
    void badOptionsAreOneLine(String option, int status, String message) {
        String[] words = option.split(" ");
        GdsRun run = gds("convert", source.toString(), destination.toString(), words[0], words[1]);
        assertThat(run.status()).isEqualTo(status);
        assertThat(run.err().lines()).singleElement().asString().contains(message);
        assertThat(destination).doesNotExist();
    }

    @Test
    void missingSourceAndFileAsDestinationAreBadInput() {
        assertThat(gds("convert", folder.resolve("none").toString(), destination.toString()).status()).isEqualTo(3);
        GdsRun run = gds("convert", source.toString(), source.toString());
        assertThat(run.status()).isEqualTo(3);
        assertThat(run.err().lines()).singleElement().asString().contains("not a folder");
    }
}
