package io.gds4j.tools;

import static io.gds4j.tools.GdsRun.gds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.data.Percentage.withPercentage;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LoadCommandTest {
    private static final List<String> FIELDS = List.of(
            "schema",
            "format",
            "files",
            "tensors",
            "bytes",
            "seconds",
            "driverOpenSeconds",
            "bytesPerSecond",
            "target",
            "backend",
            "ioPaths",
            "httpClients",
            "verified",
            "peakStagingBytes");

    @TempDir
    private Path folder;

    @Test
    void directStorageThatIsOffOverridesTheEnvironment() {
        Path file = TestCheckpoints.odd(folder.resolve("model.safetensors"));

        GdsRun run = GdsRun.gds(
                Map.of("CUFILE_ALLOW_COMPAT_MODE", "false"), () -> false, "load", file.toString(), "--target", "host",
                "--direct-storage", "off", "--json");

        assertThat(run.status()).isZero();
        assertThat(run.json().get("backend").asText()).isEqualTo("compat");
    }

    @Test
    void jsonHasEveryFieldOfTheContract() {
        Path file = TestCheckpoints.odd(folder.resolve("model.safetensors"));

        long start = System.nanoTime();
        GdsRun run = gds("load", file.toString(), "--target", "host", "--json");
        double elapsed = (System.nanoTime() - start) / 1e9;

        assertThat(run.status()).isZero();
        assertThat(run.err()).isEmpty();
        JsonNode json = run.json();
        assertThat(json.get("driverOpenSeconds").asDouble() + json.get("seconds").asDouble()).isLessThan(elapsed);
        assertThat(json.get("headerSeconds").asDouble() + json.get("memorySeconds").asDouble())
                .isLessThan(json.get("seconds").asDouble());
        assertThat(json.fieldNames()).toIterable().containsAll(FIELDS).doesNotContain("tensorList");
        assertThat(json.get("schema").asText()).isEqualTo("gds4j.load/1");
        assertThat(json.get("format").asText()).isEqualTo("safetensors");
        assertThat(json.get("files").asInt()).isEqualTo(1);
        assertThat(json.get("tensors").asInt()).isEqualTo(7);
        long bytes = 1000 * 37 * 2 + 513 * 129 * 4 + 4097 + 3 * 5 * 7 + 8 + 11;
        assertThat(json.get("bytes").asLong()).isEqualTo(bytes);
        assertThat(json.get("seconds").asDouble()).isPositive();
        assertThat(json.get("driverOpenSeconds").asDouble()).isPositive();
        assertThat(json.get("bytesPerSecond").asDouble())
                .isCloseTo(bytes / json.get("seconds").asDouble(), withPercentage(0.1));
        assertThat(json.get("target").asText()).isEqualTo("host");
        assertThat(json.get("backend").asText()).isEqualTo("compat");
        long moved = StreamSupport.stream(json.get("ioPaths").spliterator(), false).mapToLong(JsonNode::asLong).sum();
        assertThat(moved).isGreaterThanOrEqualTo(bytes);
        assertThat(json.get("bytesAsked").asLong()).isEqualTo(moved);
        assertThat(json.get("whyNotDirect").asText()).startsWith("the memory is the host's");
        assertThat(json.get("verified").isNull()).isTrue();
        assertThat(json.get("peakStagingBytes").isIntegralNumber()).isTrue();
    }

    @Test
    void digestsMatchByteRangesOfTheFile() throws IOException {
        Path file = TestCheckpoints.odd(folder.resolve("model.safetensors"));

        JsonNode json = gds("load", file.toString(), "--target", "host", "--digest", "--json").json();

        assertThat(GdsRun.digests(json)).isEqualTo(TestCheckpoints.digests(file)).hasSize(7);
        JsonNode tensor = StreamSupport.stream(json.get("tensorList").spliterator(), false)
                .filter(each -> each.get("name").asText().equals("model.layers.0.weight"))
                .findFirst()
                .orElseThrow();
        assertThat(tensor.get("dtype").asText()).isEqualTo("F32");
        assertThat(tensor.get("shape").toString()).isEqualTo("[513,129]");
        assertThat(tensor.get("bytes").asLong()).isEqualTo(513 * 129 * 4);
    }

    @Test
    void tensorsInTurnHaveTheDigestsOfTheFile() throws IOException {
        Path file = TestCheckpoints.odd(folder.resolve("model.safetensors"));

        JsonNode json = gds("load", file.toString(), "-t", "host", "--budget", "2M", "--digest", "--json").json();

        assertThat(GdsRun.digests(json)).isEqualTo(TestCheckpoints.digests(file)).hasSize(7);
        assertThat(json.get("tensors").asInt()).isEqualTo(7);
        assertThat(json.get("verified").isNull()).isTrue();
        for (String other : List.of("--map", "--list", "--verify", "--parallel=replicate")) {
            assertThat(gds("load", file.toString(), "-t", "host", "--budget", "2M", other).status()).as(other)
                    .isEqualTo(2);
        }
        assertThat(gds("load", file.toString(), "-t", "host", "--budget", "4K").err())
                .contains("the budget of 4096 bytes is ").contains("bytes too small: the largest tensor, 'model.");
    }

    @Test
    void tensorsInTurnAreConverted() throws IOException {
        Path file = TestCheckpoints.odd(folder.resolve("model.safetensors"));

        JsonNode json =
                gds("load", file.toString(), "-t", "host", "--budget", "4M", "--as", "bf16", "--digest", "--json")
                        .json();

        assertThat(json.get("tensorList")).allSatisfy(tensor -> assertThat(tensor.get("dtype").asText())
                .isIn("BF16", "I8", "U8", "I16", "I32", "I64", "BOOL", "F64"));
        assertThat(json.get("tensorList").findValuesAsText("dtype")).contains("BF16").doesNotContain("F32", "F16");
        assertThat(gds("load", file.toString(), "-t", "host", "--as", "F32").err()).contains("it needs --budget");
        assertThat(gds("load", file.toString(), "-t", "host", "--budget", "4M", "--as", "I8").err())
                .contains("'I8' is no type to convert to: allowed are F32, F16 and BF16");
    }

    @Test
    void mapIsTimedWithoutADriver() throws IOException {
        Path file = TestCheckpoints.odd(folder.resolve("model.safetensors"));

        JsonNode json = gds("load", file.toString(), "--map", "--digest", "--json").json();

        OutputSchemas.check(json);
        assertThat(json.get("backend").asText()).isEqualTo("map");
        assertThat(json.get("target").asText()).isEqualTo("host");
        assertThat(json.get("driverOpenSeconds").asDouble()).isZero();
        assertThat(json.get("bytesPerSecond").asLong()).isZero();
        assertThat(json.get("seconds").asDouble()).isPositive();
        assertThat(json.get("ioPaths")).isEmpty();
        assertThat(GdsRun.digests(json)).isEqualTo(TestCheckpoints.digests(file)).hasSize(7);
        assertThat(gds("load", file.toString(), "--map", "-t", "host", "--verify").out())
                .contains("mapped in", "every byte of 7 tensors").doesNotContain("loaded in");
    }

    @ParameterizedTest
    @ValueSource(strings = {"-t gpu:0", "-t host,host", "--parallel replicate", "--backend compat",
            "--direct-storage require", "--stats", "--report page.html", "--list"})
    void whatNeedsALoadIsNotAllowedWithMap(String option) {
        Path file = TestCheckpoints.odd(folder.resolve("model.safetensors"));

        GdsRun run = gds(Stream.concat(Stream.of("load", file.toString(), "--map"), Arrays.stream(option.split(" ")))
                .toArray(String[]::new));

        assertThat(run.status()).isEqualTo(2);
        assertThat(run.err()).contains("--map");
    }

    @Test
    void shardedCheckpointLoadsByFolderOrIndex() throws IOException {
        TestCheckpoints.sharded(folder);
        Map<String, String> expected = new HashMap<>();
        for (int shard = 1; shard <= 2; shard++) {
            expected.putAll(
                    TestCheckpoints.digests(folder.resolve("model-0000%d-of-00002.safetensors".formatted(shard))));
        }

        for (Path path : List.of(folder, folder.resolve("model.safetensors.index.json"))) {
            JsonNode json = gds("load", path.toString(), "-t", "host", "--digest", "--verify", "--json").json();

            assertThat(json.get("files").asInt()).isEqualTo(2);
            assertThat(json.get("verified").asBoolean()).isTrue();
            assertThat(GdsRun.digests(json)).isEqualTo(expected).hasSize(4);
        }
    }

    @Test
    void onlyTensorsWithMatchingNamesAreLoaded() throws IOException {
        Path file = TestCheckpoints.odd(folder.resolve("model.safetensors"));

        JsonNode json =
                gds("load", file.toString(), "-t", "host", "--tensor", "layers\\.1", "--digest", "--json").json();

        assertThat(json.get("tensors").asInt()).isEqualTo(2);
        assertThat(json.get("bytes").asLong()).isEqualTo(4097 + 3 * 5 * 7);
        Map<String, String> all = TestCheckpoints.digests(file);
        assertThat(GdsRun.digests(json)).isEqualTo(
                Map.of(
                        "model.layers.1.weight", all.get("model.layers.1.weight"),
                        "model.layers.10.weight", all.get("model.layers.10.weight")));
    }

    @Test
    void listReadsOnlyHeaders() throws IOException {
        Path file = TestCheckpoints.odd(folder.resolve("model.safetensors"));
        byte[] before = Files.readAllBytes(file);

        JsonNode json = gds("load", file.toString(), "--list", "--json").json();

        assertThat(json.fieldNames()).toIterable().containsAll(FIELDS);
        assertThat(json.get("seconds").isNull()).isTrue();
        assertThat(json.get("tensorList")).hasSize(7);
        assertThat(json.get("tensorList").get(0).has("sha256")).isFalse();
        GdsRun text = gds("load", file.toString(), "--list");
        assertThat(text.out())
                .containsPattern("(?m)^  model\\.embed\\.weight +BF16 +\\[1000, 37] +72\\.27 KiB$")
                .contains(TestCheckpoints.UNICODE)
                .contains("7 tensors");
        assertThat(Files.readAllBytes(file)).isEqualTo(before);
    }

    @Test
    void ggufIsListedWithMetadataAndOffsets() throws IOException {
        Path file = folder.resolve("model.gguf");
        TestCheckpoints.gguf(file);

        JsonNode json = gds("load", file.toString(), "--list", "--json").json();

        assertThat(json.get("format").asText()).isEqualTo("gguf");
        JsonNode metadata = json.get("metadata");
        assertThat(metadata.get("general.architecture").asText()).isEqualTo("llama");
        assertThat(metadata.get("llama.rope.freq_base").floatValue()).isEqualTo(1e-6f);
        assertThat(metadata.get("general.big").bigIntegerValue()).hasToString("18446744073709551615");
        assertThat(metadata.get("general.nan").asText()).isEqualTo("NaN");
        assertThat(metadata.get("general.flag").isBoolean()).isTrue();
        JsonNode tokens = metadata.get("tokenizer.ggml.tokens");
        assertThat(tokens.get("elementType").asText()).isEqualTo("STRING");
        assertThat(tokens.get("size").asInt()).isEqualTo(20);
        assertThat(tokens.get("values")).hasSize(16).first().extracting(JsonNode::asText).isEqualTo("token0");
        JsonNode tensor = json.get("tensorList").get(0);
        assertThat(tensor.get("dtype").asText()).isEqualTo("Q4_0");
        assertThat(tensor.get("shape")).hasToString("[2,32]");
        assertThat(tensor.get("bytes").asInt()).isEqualTo(36);
        assertThat(json.get("tensorList").get(1).get("fileOffset").asInt() - tensor.get("fileOffset").asInt())
                .isEqualTo(64);
        assertThat(gds("load", file.toString(), "--list").out())
                .containsPattern("(?m)^  token_embd\\.weight +Q4_0 +\\[2, 32] +36 B$").contains("gguf, 2 tensors");
    }

    @Test
    void ggufIsLoadedVerifiedAndDigested() throws IOException {
        Path file = folder.resolve("model.gguf");
        Map<String, String> expected = TestCheckpoints.gguf(file);

        JsonNode json = gds("load", file.toString(), "-t", "host", "--verify", "--digest", "--json").json();

        assertThat(json.get("format").asText()).isEqualTo("gguf");
        assertThat(json.get("verified").asBoolean()).isTrue();
        assertThat(GdsRun.digests(json)).isEqualTo(expected);
        assertThat(gds("load", file.toString(), "-t", "host", "--tensor", "norm", "--json").json().get("bytes").asInt())
                .isEqualTo(20);
    }

    @Test
    void brokenGgufIsStatusThreeWithItsRule() throws IOException {
        Path file = folder.resolve("model.gguf");
        TestCheckpoints.gguf(file);
        Files.write(file, Arrays.copyOf(Files.readAllBytes(file), (int) Files.size(file) - 1));

        GdsRun run = gds("load", file.toString(), "-t", "host", "--json");

        assertThat(run.status()).isEqualTo(3);
        JsonNode error = run.json().get("error");
        assertThat(error.get("name").asText()).isEqualTo("TruncatedData");
        assertThat(error.get("tensor").asText()).isEqualTo("output_norm.weight");
        assertThat(error.get("file").asText()).isEqualTo(file.toString());
        assertThat(error.get("offset").asLong()).isEqualTo(Files.size(file));
    }

    @Test
    void textShowsSizeSpeedAndIoPath() {
        Path file = TestCheckpoints.odd(folder.resolve("model.safetensors"));

        GdsRun run = gds("load", file.toString(), "--target", "host", "--verify");

        assertThat(run.status()).isZero();
        assertThat(run.err()).isEmpty();
        assertThat(run.out())
                .contains(file.toString())
                .contains("7 tensors")
                .contains("host memory")
                .containsPattern("loaded in +\\d+\\.\\d+ s +\\d+\\.\\d+ [MG]B/s")
                .contains("COMPAT_")
                .containsPattern("verified +every byte of 7 tensors")
                .contains("staging");
    }

    @Test
    void quietPrintsNothing() {
        Path file = TestCheckpoints.odd(folder.resolve("model.safetensors"));

        assertThat(gds("load", file.toString(), "-t", "host", "-q")).isEqualTo(new GdsRun(0, "", ""));
    }

    @Test
    void differenceIsStatusFiveAndNamesTheTensor() throws IOException {
        Path file = TestCheckpoints.odd(folder.resolve("model.safetensors"));

        // The command queries the terminal for the second time between loading and verification.
        GdsRun run = GdsRun.gds(Map.of(), GdsRun.onQuestion(2, () -> flipLastByte(file)), "load", file.toString(), "-t",
                "host", "--verify", "--json");

        assertThat(run.status()).isEqualTo(5);
        assertThat(run.json().get("verified").asBoolean()).isFalse();
        assertThat(run.json().get("mismatches")).hasSize(1);
        assertThat(run.errorLine()).contains(file.toString()).contains("1 of 7 tensors").contains("differ");
    }

    @Test
    void fileTruncatedAfterItsHeaderIsStatusThree() {
        Path file = TestCheckpoints.odd(folder.resolve("model.safetensors"));

        GdsRun run = GdsRun.gds(Map.of(), GdsRun.onQuestion(1, () -> truncate(file)), "load", file.toString(), "-t",
                "host", "--json");

        assertThat(run.status()).isEqualTo(3);
        assertThat(run.json().get("error").get("name").asText()).isEqualTo("FileChanged");
        assertThat(run.json().has("bytes")).isFalse();
        assertThat(run.errorLine()).contains(file.toString());
    }

    private static void flipLastByte(Path file) {
        try {
            byte[] bytes = Files.readAllBytes(file);
            bytes[bytes.length - 1] ^= 1;
            Files.write(file, bytes);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private static void truncate(Path file) {
        try (var channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            channel.truncate(channel.size() / 2);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }
}
