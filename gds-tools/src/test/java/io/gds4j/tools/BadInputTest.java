package io.gds4j.tools;

import static io.gds4j.tools.GdsRun.gds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import com.fasterxml.jackson.databind.JsonNode;
import io.gds4j.config.CuFileConfig;
import io.gds4j.libcufile.DirectStorageProbe;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Each kind of bad input prints one line on standard error, only the error on standard output, and the documented
 * status.
 */
@Tag("slow")
class BadInputTest {
    private interface Maker {
        void make(Path path) throws IOException;
    }

    @TempDir
    private Path folder;

    static Stream<Arguments> brokenCheckpoints() {
        return Stream.of(
                arguments("a missing file", (Maker) path -> {
                }, "FileNotFound"),
                arguments("an empty file", (Maker) path -> Files.write(path, new byte[0]), "HeaderTooSmall"),
                arguments("a text file", (Maker) path -> Files.writeString(path, "this is not a checkpoint"),
                        "HeaderTooLarge"),
                arguments("a header of 2^60 bytes", (Maker) path -> Files.write(path, header(1L << 60, "{}")),
                        "HeaderTooLarge"),
                arguments("a file of zeros", (Maker) path -> Files.write(path, new byte[4096]),
                        "InvalidHeaderDeserialization"),
                arguments("a header past the end", (Maker) path -> Files.write(path, header(5000, "{}")),
                        "InvalidHeaderLength"),
                arguments("a header that is not JSON", (Maker) path -> Files.write(path, header(4, "nope")),
                        "InvalidHeaderDeserialization"),
                arguments("a truncated file", (Maker) BadInputTest::truncated, "MetadataIncompleteBuffer"),
                arguments("an empty folder", (Maker) Files::createDirectory, "NoCheckpoint"),
                arguments("a missing shard", (Maker) BadInputTest::missingShard, "MissingShard"));
    }

    private static byte[] header(long length, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        return ByteBuffer.allocate(Long.BYTES + bytes.length)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(length)
                .put(bytes)
                .array();
    }

    private static void truncated(Path path) throws IOException {
        TestCheckpoints.odd(path);
        byte[] bytes = Files.readAllBytes(path);
        Files.write(path, Arrays.copyOf(bytes, bytes.length - 1));
    }

    private static void missingShard(Path path) throws IOException {
        TestCheckpoints.sharded(path);
        Files.delete(path.resolve("model-00002-of-00002.safetensors"));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("brokenCheckpoints")
    void brokenCheckpointIsStatusThree(String what, Maker maker, String rule) throws IOException {
        Path path = folder.resolve("model.safetensors");
        maker.make(path);

        GdsRun run = gds("load", path.toString(), "--target", "host");

        assertThat(run.status()).isEqualTo(3);
        assertThat(run.out()).isEmpty();
        assertThat(run.errorLine()).startsWith("gds: " + path).doesNotContain(rule);
        JsonNode error = gds("load", path.toString(), "--target", "host", "--json").json().get("error");
        assertThat(error.get("name").asText()).isEqualTo(rule);
        assertThat(error.get("file").asText()).startsWith(path.toString());
        assertThat(error.get("code").isInt()).isTrue();
    }

    @Test
    void nameThatIsTooLongIsBadInput() {
        String name = folder.resolve("n".repeat(256) + ".safetensors").toString();

        assertThat(gds("load", name, "-t", "host").status()).isEqualTo(3);
    }

    @Test
    void fileOfZerosIsExplainedInWords() throws IOException {
        Path path = Files.write(folder.resolve("model.safetensors"), new byte[4096]);

        assertThat(gds("load", path.toString(), "-t", "host").errorLine()).isEqualTo(
                "gds: " + path
                        + ": not a safetensors file: the header length is 0 (at byte 0)");
    }

    @Test
    void errorObjectNamesTheTensorAndTheByte() throws IOException {
        String json = "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
                + "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[6,10]}}";
        Path path = Files.write(folder.resolve("model.safetensors"), header(json.length(), json + "0123456789"));

        JsonNode error = gds("load", path.toString(), "-t", "host", "--json").json().get("error");

        assertThat(error.get("name").asText()).isEqualTo("InvalidOffset");
        assertThat(error.get("tensor").asText()).isEqualTo("b");
        assertThat(error.has("offset")).isTrue();
        assertThat(error.get("message").asText()).contains("'b'");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
                    load                               | Missing required parameter: 'PATH'
                    load FILE --target gpu             | 'gpu' is not a target: allowed are host and gpu:N
                    load FILE --target gpu:-1          | 'gpu:-1' is not a target
                    load FILE --target cpu             | 'cpu' is not a target
                    load FILE --backend fast           | 'fast' is not a backend: allowed are auto, compat, libcufile
                    load FILE --tensor [               | '[' is not a regular expression
                    load FILE --tensor                 | Missing required parameter for option '--tensor'
                    load FILE --quiet --quiet          | should be specified only once
                    load FILE FILE                     | Unmatched argument at index 2
                    load FILE --verfy                  | did you mean --verify
                    demo --size many                   | 'many' is not a size
                    demo --size 1K                     | --size 1024: allowed here is 1048576 to
                    demo --size 7E                     | a quarter of the free
                    check --frob                       | Unknown option: '--frob'
                    check --require ,                  | Invalid value for option '--require': the list is empty
                    load FILE --target ,               | Invalid value for option '--target': the list is empty
                    patterns -p ,                      | Invalid value for option '--patterns': the list is empty
                    """)
    void wrongUsageIsStatusTwo(String line, String expected) {
        Path file = TestCheckpoints.odd(folder.resolve("model.safetensors"));

        GdsRun run = gds(line.replace("FILE", file.toString()).split(" "));

        assertThat(run.status()).isEqualTo(2);
        assertThat(run.out()).isEmpty();
        assertThat(run.errorLine()).startsWith("gds: ").contains(expected);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
                    io /dev/zero                            | is not a regular file, so it cannot be a job file
                    io -d host -f FILE --series /dev/zero   | is not a regular file, so it cannot be a series
                    plot /dev/zero -o FILE.svg              | is not a regular file, so it cannot be a result of gds io
                    patterns --from /dev/zero               | is not a regular file, so it cannot be a result of gds pat
                    io /                                    | is a folder, not a job file
                    plot / -o FILE.svg                      | is a folder, not a result of gds io --json
                    """)
    void deviceAsInputIsStatusThree(String line, String expected) {
        Path file = TestCheckpoints.odd(folder.resolve("model.safetensors"));

        GdsRun run = gds(line.replace("FILE", file.toString()).split(" "));

        assertThat(run.status()).isEqualTo(3);
        assertThat(run.errorLine()).startsWith("gds: /").contains(expected);
    }

    @Test
    void jobFileOverTheSizeLimitIsStatusThree() throws IOException {
        Path file = Files.write(folder.resolve("jobs.gdsio"), new byte[(1 << 20) + 1]);

        assertThat(gds("io", file.toString()).errorLine()).contains("is larger than 1 MiB, so it cannot be a job file");
    }

    @Test
    void errorObjectTruncatesALongTensorName() throws IOException {
        String name = "n".repeat(300);
        String json = "{\"%s\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[6,10]}}".formatted(name);
        Path path = Files.write(folder.resolve("model.safetensors"), header(json.length(), json + "0123456789"));

        JsonNode error = gds("load", path.toString(), "-t", "host", "--json").json().get("error");

        assertThat(error.get("tensor").asText()).isEqualTo("n".repeat(255) + "…");
    }

    @Test
    void unmatchedTensorPatternIsStatusThree() {
        Path file = TestCheckpoints.odd(folder.resolve("model.safetensors"));

        GdsRun run = gds("load", file.toString(), "-t", "host", "--tensor", "no\\.such");

        assertThat(run.status()).isEqualTo(3);
        assertThat(run.errorLine()).contains("'no\\.such' matches none of its 7 tensors");
    }

    @Test
    void missingGpuIsStatusFour() {
        Path file = TestCheckpoints.odd(folder.resolve("model.safetensors"));

        GdsRun run = gds("load", file.toString(), "--target", "gpu:4095", "--json");

        assertThat(run.status()).isEqualTo(4);
        assertThat(run.errorLine()).startsWith("gds: gpu:4095: no ");
        assertThat(run.json().get("error").get("name").asText()).isEqualTo("NO_GPU");
    }

    @Test
    void unavailableBackendIsStatusFour() {
        Path file = TestCheckpoints.odd(folder.resolve("model.safetensors"));

        GdsRun run = GdsRun.gds(
                Map.of("CUFILE_ALLOW_COMPAT_MODE", "false"), () -> false, "load", file.toString(), "-t", "host",
                "--backend", "compat");

        assertThat(run.status()).isEqualTo(4);
        assertThat(run.errorLine()).contains("GPUDirect Storage is required (allow_compat_mode=false")
                .doesNotContain("force_compat_mode");
    }

    @ParameterizedTest
    @ValueSource(strings = {"load -t host FILE", "io -d host -f FILE", "check FILE", "check"})
    void requiredDirectStorageWithoutItIsStatusFour(String line) {
        assumeTrue(DirectStorageProbe.probe(CuFileConfig.defaults()) instanceof DirectStorageProbe.Lacking);
        Path file = TestCheckpoints.odd(folder.resolve("model.safetensors"));
        String command = line.replace("FILE", file.toString()) + " --direct-storage require --json";

        GdsRun run = gds(command.split(" "));

        assertThat(run.status()).isEqualTo(4);
        assertThat(run.errorLine()).startsWith("gds: GPUDirect Storage is required")
                .contains("libcufile: nvidia-fs is not loaded");
        assertThat(run.json().get("error").get("code").asInt()).isEqualTo(5001);
    }

    @Test
    void unknownValueOfDirectStorageIsStatusTwo() {
        GdsRun run = gds("check", "--direct-storage", "maybe");

        assertThat(run.status()).isEqualTo(2);
        assertThat(run.err()).contains("'maybe' is not allowed: allowed are auto, require, off");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
                    {"properties": {"io_batchsize": 999999}}   | properties.io_batchsize is 999999
                    {"properties": {"io_batchsize": "many"}}   | properties.io_batchsize
                    {"properties":                             | cufile.json
                    [1, 2]                                     | cufile.json
                    """)
    void brokenConfigurationFileIsStatusThree(String text, String expected) throws IOException {
        Path config = Files.writeString(folder.resolve("cufile.json"), text);
        Path file = TestCheckpoints.odd(folder.resolve("model.safetensors"));
        Map<String, String> environment = Map.of("CUFILE_ENV_PATH_JSON", config.toString());

        for (String[] line : new String[][]{
                {"load", file.toString(), "-t", "host"}, {"check"},
                {"demo", "--dir", folder.toString(), "--size", "1M"}}) {
            GdsRun run = GdsRun.gds(environment, () -> false, line);

            assertThat(run.status()).as(line[0]).isEqualTo(3);
            assertThat(run.out()).isEmpty();
            assertThat(run.errorLine()).startsWith("gds: " + config + ":1").contains(expected);
        }
        assertThat(filesIn(folder)).containsExactlyInAnyOrder(config, file);
    }

    @Test
    void folderAsConfigurationFileIsStatusThree() {
        GdsRun run = GdsRun.gds(Map.of("CUFILE_ENV_PATH_JSON", folder.toString()), () -> false, "check", "--json");

        assertThat(run.status()).isEqualTo(3);
        assertThat(run.errorLine()).startsWith("gds: " + folder);
        assertThat(run.json().get("error").get("message").asText()).startsWith(folder.toString());
    }

    @Test
    void variableOutOfRangeIsStatusThree() {
        GdsRun run = GdsRun.gds(Map.of("CUFILE_ALLOW_COMPAT_MODE", "perhaps"), () -> false, "check");

        assertThat(run.status()).isEqualTo(3);
        assertThat(run.errorLine()).contains("CUFILE_ALLOW_COMPAT_MODE").contains("perhaps").contains("allowed");
    }

    private static List<Path> filesIn(Path folder) {
        try (Stream<Path> files = Files.list(folder)) {
            return files.toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
