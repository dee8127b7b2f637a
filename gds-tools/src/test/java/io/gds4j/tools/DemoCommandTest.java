package io.gds4j.tools;

import static io.gds4j.tools.GdsRun.gds;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DemoCommandTest {
    @TempDir
    private Path folder;

    @Test
    void createsLoadsVerifiesComparesAndDeletes() {
        GdsRun run = gds("demo", "--size", "3M", "--dir", folder.toString(), "--json");

        assertThat(run.status()).isZero();
        assertThat(run.err()).isEmpty();
        assertThat(folder).isEmptyDirectory();
        JsonNode json = run.json();
        assertThat(json.get("schema").asText()).isEqualTo("gds4j.demo/1");
        assertThat(json.get("verified").asBoolean()).isTrue();
        assertThat(json.get("bytes").asLong()).isBetween(3L * (1 << 20) * 98 / 100, 3L << 20);
        assertThat(json.get("tensors").asInt()).isGreaterThan(10);
        assertThat(json.get("bytesPerSecond").asLong()).isPositive();
        assertThat(json.get("baselineBytesPerSecond").asLong()).isPositive();
        assertThat(json.get("seconds").asDouble()).isPositive();
        assertThat(json.fieldNames())
                .toIterable()
                .contains("format", "files", "driverOpenSeconds", "target", "backend", "ioPaths", "peakStagingBytes");
    }

    /** {@code /proc} has no free space: no size is allowed there. */
    @Test
    void fullDiskIsNamed() {
        GdsRun run = gds("demo", "--size", "2M", "--dir", "/proc");

        assertThat(run.status()).isEqualTo(4);
        assertThat(run.errorLine()).startsWith("gds: /proc: a demo needs four times ");
    }

    @Test
    void textShowsTheComparison() {
        GdsRun run = gds("demo", "--size", "2M", "--dir", folder.toString());

        assertThat(run.status()).isZero();
        assertThat(run.err()).isEmpty();
        assertThat(run.out())
                .containsPattern("creating +" + folder)
                .containsPattern("gds4j +\\S+ [MG]B/s +\\S+ s to \\S+ s; median of 5 loads")
                .containsPattern("FileChannel +\\S+ [MG]B/s +\\S+ s to \\S+ s")
                .containsPattern("gds4j is \\d+\\.\\d\\d times (as fast|slower)")
                .containsPattern("verified +every byte of \\d+ tensors")
                .contains("staging")
                .containsPattern("deleted +" + folder);
    }

    @Test
    void keptCheckpointLoadsAndIsNamedInTheOutput() {
        Path kept = folder.resolve("gds-demo").resolve("model.safetensors");

        GdsRun text = gds("demo", "--size", "2M", "--dir", folder.toString(), "--keep");
        GdsRun again = gds("demo", "--size", "3M", "--dir", folder.toString(), "--keep", "--json");

        assertThat(text.status()).isZero();
        assertThat(text.out()).containsPattern("kept +" + kept + "\n").doesNotContain("deleted");
        assertThat(again.json().get("kept").asText()).isEqualTo(kept.toString());
        assertThat(folder.toFile().list()).containsExactly("gds-demo");
        GdsRun load = gds("load", kept.toString(), "--target", "host", "--json");
        assertThat(load.status()).isZero();
        assertThat(load.json().get("bytes")).isEqualTo(again.json().get("bytes"));
    }

    @Test
    void failureDoesNotReplaceAKeptCheckpoint() throws IOException {
        gds("demo", "--size", "2M", "--dir", folder.toString(), "--keep");
        Path kept = folder.resolve("gds-demo").resolve("model.safetensors");
        byte[] before = Files.readAllBytes(kept);

        GdsRun run = GdsRun.gds(
                Map.of(), GdsRun.onQuestion(2, () -> truncateIn(folder, "gds-demo-")), "demo", "--size", "3M", "--dir",
                folder.toString(), "--keep");

        assertThat(run.status()).isEqualTo(3);
        assertThat(kept).hasBinaryContent(before);
        assertThat(folder.toFile().list()).containsExactly("gds-demo");
    }

    /** No checkpoint has the configuration of another one. */
    @Test
    void configurationThatCannotBeReplacedKeepsItsCheckpoint() throws IOException {
        gds("demo", "--size", "2M", "--dir", folder.toString(), "--keep");
        Path kept = folder.resolve("gds-demo").resolve("model.safetensors");
        byte[] before = Files.readAllBytes(kept);
        Path config = kept.resolveSibling("config.json");
        Files.delete(config);
        Files.createFile(Files.createDirectory(config).resolve("file"));

        assertThat(gds("demo", "--size", "3M", "--dir", folder.toString(), "--keep").status()).isEqualTo(4);

        assertThat(kept).hasBinaryContent(before);
    }

    @Test
    void failureDeletesTheCheckpoint() {
        // The command queries the terminal for the second time after it created the file.
        GdsRun run = GdsRun.gds(
                Map.of(), GdsRun.onQuestion(2, () -> truncateIn(folder, "gds-demo-")), "demo", "--size", "2M", "--dir",
                folder.toString(), "--json");

        assertThat(run.status()).isEqualTo(3);
        assertThat(run.json().get("error").get("name").asText()).isEqualTo("FileChanged");
        assertThat(folder).isEmptyDirectory();
    }

    private static void truncateIn(Path folder, String prefix) {
        try (var files = Files.walk(folder)) {
            Path file = files.filter(Files::isRegularFile)
                    .filter(path -> path.getParent().getFileName().toString().startsWith(prefix))
                    .findFirst().orElseThrow();
            try (var channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
                channel.truncate(channel.size() / 2);
            }
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void missingFolderIsBadInput() throws IOException {
        Path missing = folder.resolve("missing");
        Path file = Files.createFile(folder.resolve("file"));

        GdsRun run = gds("demo", "--dir", missing.toString());
        GdsRun onFile = gds("demo", "--dir", file.toString(), "--json");

        assertThat(run.status()).isEqualTo(3);
        assertThat(run.out()).isEmpty();
        assertThat(run.errorLine()).isEqualTo("gds: " + missing + ": no such folder");
        assertThat(onFile.status()).isEqualTo(3);
        assertThat(onFile.json().get("error").get("file").asText()).isEqualTo(file.toString());
    }
}
