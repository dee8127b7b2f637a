package io.gds4j.tools;

import static io.gds4j.tools.GdsRun.gds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaDriver;
import io.gds4j.samples.Samples;
import io.gds4j.samples.Samples.Named;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SampleCommandTest {
    @TempDir
    private Path folder;

    @Test
    void listNamesEverySample() {
        GdsRun run = gds("sample", "--list");

        assertThat(run.status()).isZero();
        assertThat(run.out().lines()).hasSameSizeAs(Samples.all());
        assertThat(run.out()).contains(Samples.all().stream().map(Named::name).toList());
        assertThat(gds("sample", "--list", "--json").json().get("samples")).hasSameSizeAs(Samples.all());
    }

    @Test
    void sampleShowsBytesPathAndLessonAndLeavesNoFiles() throws IOException {
        GdsRun run = gds("sample", "pattern-2", "--memory", "host", "--size", "1M", "--dir", folder.toString());

        assertThat(run.status()).isZero();
        assertThat(run.err()).isEmpty();
        assertThat(run.out())
                .containsPattern("1048576 bytes in [0-9.]+ s, [0-9.]+ GB/s, by COMPAT_")
                .contains("verified: the bytes are right", "lesson: ");
        assertThat(Files.list(folder)).isEmpty();
    }

    @Test
    void jsonHasEveryFieldOfTheContract() {
        JsonNode json = gds(
                "sample", "pattern-3", "--memory", "host", "--size", "1M", "--dir", folder.toString(), "--json").json();

        assertThat(json.get("schema").asText()).isEqualTo("gds4j.sample/1");
        assertThat(json.get("name").asText()).isEqualTo("pattern-3");
        assertThat(json.get("bytes").asLong()).isEqualTo(1 << 20);
        assertThat(json.get("seconds").asDouble()).isPositive();
        assertThat(json.get("verified").asBoolean()).isTrue();
        assertThat(json.get("lines").get(0).asText()).startsWith("bounce buffers");
    }

    @Test
    void severalSamplesPrintOneObject() {
        JsonNode json = gds("sample", "pattern-1", "pattern-2", "--memory", "host", "--size", "64K",
                "--dir", folder.toString(), "--json").json();

        assertThat(json.get("verified").asBoolean()).isTrue();
        assertThat(json.get("samples")).hasSize(2);
    }

    @Test
    void statisticsOfASampleAreInTextAndObject() throws IOException {
        String[] line = {"sample", "pattern-1", "driver-settings", "--memory", "host", "--size", "256K", "--io", "64K",
                "--dir", folder.toString(), "--stats"};
        GdsRun run = gds(line);

        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.out()).contains(
                "  SESSION of pattern-1 (compat), statistics level 3", "  Read: ok = 8 err = 0", // with the warm-up
                "  BufRegister: ok = 8 err = 0", "  HandleDeregister: ok = 1 err = 0",
                "  SESSION of driver-settings (compat), statistics level 3");
        String[] asJson = Arrays.copyOf(line, line.length + 1);
        asJson[line.length] = "--json";
        JsonNode samples = gds(asJson).json().get("samples");
        assertThat(samples.get(0).get("stats").get("buf_register_ops").get("ok").asLong()).isEqualTo(8);
        assertThat(samples.get(0).get("stats").get("read_bytes").asLong()).isEqualTo(2 * samples.get(0).get("bytes")
                .asLong());
        assertThat(samples.get(1).get("stats").get("write_ops").get("ok").asLong()).isEqualTo(1);
        assertThat(Files.list(folder)).isEmpty();
    }

    @Test
    void unavailableBackendIsReportedOnce() {
        assumeTrue(CudaDriver.detect() instanceof CudaAvailability.Unavailable, "only on a machine without a GPU");
        GdsRun run = gds("sample", "--all", "--backend", "libcufile", "--dir", folder.toString());

        assertThat(run.status()).isEqualTo(4);
        assertThat(run.out()).isEmpty();
        assertThat(run.errorLine()).startsWith("gds: libcufile is not available: ").doesNotContain("looked in");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            sample                            | no sample given: name one or use --all
            sample no-such                    | there is no sample 'no-such'
            sample pattern-1 --size many      | --size is 'many', which is no number
            sample pattern-1 --size 1000G     | allowed: 1 to
            sample pattern-1 --size 99999999999999999999 | --size is 99999999999999999999, allowed: 1 to 536870912
            sample pattern-1 --gpu 4294967296 | --gpu is 4294967296, allowed: 0 to 2147483647
            sample pattern-1 --memory flash   | --memory is 'flash', known: [host,
            sample pattern-1 --backend fast   | 'fast' is not a backend: allowed are auto, compat, libcufile
            sample pattern-1 --threads 0      | --threads is 0, allowed: 1 to 256
            """)
    void wrongUsageIsOneLineAndStatusTwo(String line, String expected) {
        GdsRun run = gds(line.split(" "));

        assertThat(run.status()).isEqualTo(2);
        assertThat(run.errorLine()).startsWith("gds: ").contains(expected);
    }
}
