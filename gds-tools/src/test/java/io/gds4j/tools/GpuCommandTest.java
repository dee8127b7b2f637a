package io.gds4j.tools;

import static io.gds4j.tools.GdsRun.gds;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The command on a machine with a GPU. */
@Tag("gpu")
class GpuCommandTest {
    @TempDir
    private Path folder;

    @Test
    void checkShowsTheGpu() {
        JsonNode json = gds("check", "--json").json();

        assertThat(json.get("driver").get("available").asBoolean()).isTrue();
        assertThat(json.get("driver").get("cudaVersion").asText()).matches("\\d+\\.\\d+");
        JsonNode gpu = json.get("gpus").get(0);
        assertThat(gpu.get("index").asInt()).isZero();
        assertThat(gpu.get("name").asText()).contains("NVIDIA");
        assertThat(gpu.get("memoryBytes").asLong()).isGreaterThan(1L << 30);
        assertThat(gpu.get("pciId").asText()).matches("[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\\.[0-9a-f]");
        assertThat(gpu.get("uuid").asText()).matches("GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}");
        assertThat(gpu.get("computeCapability").asText()).matches("\\d+\\.\\d+");
    }

    @Test
    void digestsInGpuMemoryMatchTheFile() throws IOException {
        Path file = TestCheckpoints.odd(folder.resolve("model.safetensors"));

        GdsRun run = gds("load", file.toString(), "--target", "gpu:0", "--verify", "--digest", "--json");

        assertThat(run.status()).as(run.err()).isZero();
        JsonNode json = run.json();
        assertThat(json.get("target").asText()).isEqualTo("gpu:0");
        assertThat(json.get("verified").asBoolean()).isTrue();
        assertThat(GdsRun.digests(json)).isEqualTo(TestCheckpoints.digests(file));
    }

    @Test
    void demoUsesTheGpuByDefault() {
        GdsRun run = gds("demo", "--size", "64M", "--dir", folder.toString(), "--json");

        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.json().get("target").asText()).isEqualTo("gpu:0");
        assertThat(run.json().get("verified").asBoolean()).isTrue();
        assertThat(run.json().get("peakStagingBytes").asLong()).isPositive();
        assertThat(folder).isEmptyDirectory();
    }
}
