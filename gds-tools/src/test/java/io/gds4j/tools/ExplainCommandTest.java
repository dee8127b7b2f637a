package io.gds4j.tools;

import static io.gds4j.tools.GdsRun.gds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("slow")
class ExplainCommandTest {
    @TempDir
    private Path folder;

    private Path demo() {
        gds("demo", "--size", "8M", "--dir", folder.toString(), "--keep", "-q");
        return folder.resolve("gds-demo");
    }

    @Test
    void tellsPathsTimesAndMemoryBeforeALoad() throws IOException {
        Path model = demo();

        GdsRun run = gds("explain", model.toString(), "--target", "host", "--json");

        assertThat(run.status()).as(run.err()).isZero();
        JsonNode json = run.json();
        assertThat(json.get("schema").asText()).isEqualTo("gds4j.explain/1");
        JsonNode load = gds("load", model.toString(), "-t", "host", "--json").json();
        assertThat(json.get("bytes")).isEqualTo(load.get("bytes"));
        assertThat(json.get("files")).hasSize(load.get("files").asInt());
        assertThat(json.get("hotSeconds").asDouble()).isGreaterThan(0);
        assertThat(json.get("hotBytesPerSecond").asLong()).isGreaterThan(1_000_000);
        assertThat(json.get("hotMeasured").asText()).as("of files that have just been written").isEqualTo("checkpoint");
        JsonNode file = json.get("files").get(0);
        assertThat(load.get("ioPaths").has(file.get("ioPath").asText())).isTrue();
        assertThat(file.get("reason").asText()).isNotEmpty();
        assertThat(json.get("ranks")).hasSize(1);
        assertThat(json.get("ranks").get(0).get("bytes").asLong()).isGreaterThanOrEqualTo(load.get("bytes").asLong());
        assertThat(json.get("cachedBytes").asLong()).isBetween(0L, load.get("bytes").asLong() + (1 << 20));
    }

    @Test
    void fileInMemoryIsNeverCold() throws IOException {
        Path file = Files.createTempFile(Path.of("/dev/shm"), "gds-test-", ".safetensors");
        try {
            TestCheckpoints.odd(file);

            JsonNode json = gds("explain", file.toString(), "-t", "host", "--json").json();

            assertThat(json.get("coldSeconds")).isEqualTo(json.get("hotSeconds")).isEqualTo(json.get("nowSeconds"));
            assertThat(json.get("files").get(0).get("coldBytesPerSecond").isNull()).isTrue();
            assertThat(json.get("hotMeasured").asText()).isEqualTo("checkpoint");
            assertThat(gds("explain", file.toString(), "-t", "host").out()).contains("in memory");
        } finally {
            Files.delete(file);
        }
    }

    @Test
    void smallFileHasNoColdTime() {
        Path file = TestCheckpoints.odd(folder.resolve("model.safetensors"));

        JsonNode json = gds("explain", file.toString(), "-t", "host", "--json").json();

        assertThat(json.get("coldSeconds").isNull()).as("200 ms of a file of some bytes tell nothing").isTrue();
        assertThat(gds("explain", file.toString(), "-t", "host").out())
                .contains("unknown from storage").contains("delivers an unknown rate");
    }

    @Test
    void fileThatIsNotInThePageCacheIsNotReadToExpectALoadFromIt() throws IOException {
        // a hole, of which the page cache has nothing
        Path file = checkpoint("{\"t\":{\"dtype\":\"U8\",\"shape\":[4194304],\"data_offsets\":[0,4194304]}}", 4 << 20);

        JsonNode json = gds("explain", file.toString(), "-t", "host", "--json").json();

        assertThat(json.get("hotMeasured").isNull()).isTrue();
        assertThat(json.get("hotSeconds").isNull()).isTrue();
        assertThat(gds("explain", file.toString(), "-t", "host").out())
                .containsPattern("memory +unknown: the page cache has 0 B of the checkpoint, and 2 MiB are needed");
    }

    /** What the page cache has of a file is as much after a measurement as before. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void measurementOfStorageLeavesThePageCacheAsItWas(boolean cached) throws IOException {
        gds("demo", "--size", "32M", "--dir", folder.toString(), "--keep", "-q");
        Path model = folder.resolve("gds-demo/model.safetensors");
        Posix posix = FfmPosix.instance();
        int fd = posix.open(model.toString(), PosixConstants.O_RDONLY, 0);
        try {
            assumeTrue(posix.cachedPages(fd, 0, 1) >= 0, "this kernel does not tell what is cached");
            posix.fsync(fd);
            if (!cached) {
                posix.fadvise(fd, 0, 0, PosixConstants.POSIX_FADV_DONTNEED);
            }
            long before = posix.cachedPages(fd, 0, Files.size(model));
            assumeTrue(cached ? before > 8000 : before < 100, "a folder in memory, or a file that does not leave it");

            JsonNode json = gds("explain", model.toString(), "-t", "host", "--json").json();

            assertThat(json.get("coldSeconds").isNumber()).as(json.toString()).isTrue();
            assertThat(posix.cachedPages(fd, 0, Files.size(model))).isBetween(before, before + 600);
        } finally {
            posix.close(fd);
        }
    }

    private Path checkpoint(String header, int bytes) throws IOException {
        Path path = folder.resolve("made.safetensors");
        try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw")) {
            file.writeLong(Long.reverseBytes(header.length()));
            file.writeBytes(header);
            file.setLength(8 + header.length() + bytes);
        }
        return path;
    }

    @Test
    void saysWhyLoadsFromMemoryCouldNotBeMeasured() throws Exception {
        Path config = Files.writeString(
                folder.resolve("cufile.json"), "{\"properties\": {\"allow_system_memory\": false}}");
        Path out = folder.resolve("out");
        ProcessBuilder command = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-cp", System.getProperty("java.class.path"), GdsCommand.class.getName(), "explain",
                TestCheckpoints.odd(folder.resolve("model.safetensors")).toString(), "-t", "host");
        command.environment().put("CUFILE_ENV_PATH_JSON", config.toString());

        assertThat(command.redirectOutput(out.toFile()).start().waitFor()).isZero();

        assertThat(Files.readString(out)).containsPattern("memory +unknown: .*allow_system_memory is false");
    }

    @Test
    void checkpointWithoutBytesHasNoTime() throws IOException {
        for (String header : new String[]{"{}", "{\"t\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}}"}) {
            Path file = checkpoint(header, 0);

            JsonNode json = gds("explain", file.toString(), "-t", "host", "--json").json();

            assertThat(json.get("hotSeconds").isNull()).as(json.toString()).isTrue();
            assertThat(json.get("coldSeconds").isNull()).as(json.toString()).isTrue();
            Files.delete(file);
        }
    }

    @Test
    void bytesThatALoadReadsAlongAreNoReasonForMoreTime() throws IOException {
        // 1 byte of a tensor, with which a load reads the 4000 before it
        String header = "{\"t\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}";
        Path file = checkpoint(header + " ".repeat(3992 - header.length()), 1);

        JsonNode json = gds("explain", file.toString(), "-t", "host", "--json").json();

        assertThat(json.get("hotMeasured").asText()).isEqualTo("checkpoint");
        assertThat(json.get("hotSeconds").asDouble()).isBetween(0.0, 8.0);
    }

    @Test
    void eachRankHasItsMemory() {
        Path model = demo();

        GdsRun replicated = gds("explain", model.toString(), "-t", "host,host", "--json");
        GdsRun sliced = gds(
                "explain", model.toString(), "-t", "host,host", "--parallel", "column", "--heads", "8,2", "--tensor",
                "self_attn", "--backend", "compat", "--direct-storage", "off", "--json");

        assertThat(replicated.json().get("ranks")).hasSize(2);
        assertThat(sliced.status()).as(sliced.err()).isZero();
        assertThat(sliced.json().get("ranks").get(1).get("bytes").asLong())
                .isLessThan(replicated.json().get("ranks").get(1).get("bytes").asLong());
    }

    @Test
    void textNamesFilesReasonsAndWhatWouldBeFaster() {
        GdsRun run = gds("explain", demo().toString(), "-t", "host");

        assertThat(run.out()).startsWith("Expected: ")
                .containsPattern("(?m)^  model\\S+ +\\S+ MiB +\\d+% cached +COMPAT_")
                .containsPattern("(?m)^  COMPAT_\\w+: \\S").containsPattern("(?m)^  rank 0 +\\S+ .*available, host$")
                .contains("\nFaster\n");
    }

    @Test
    void missingCheckpointAndHeadsAloneFail() {
        assertThat(gds("explain", folder.resolve("missing").toString()).status()).isEqualTo(3);
        assertThat(gds("explain", demo().toString(), "--heads", "4,2").status()).isEqualTo(2);
        assertThat(gds("explain", demo().toString(), "-t", "gpu:4095").status()).isEqualTo(4);
    }
}
