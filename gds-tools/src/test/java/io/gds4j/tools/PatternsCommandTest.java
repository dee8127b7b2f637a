package io.gds4j.tools;

import static io.gds4j.tools.GdsRun.gds;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PatternsCommandTest {
    @TempDir
    private Path folder;

    @Test
    void firstThreePatternsAreComparedAndDrawn() throws IOException {
        Path chart = folder.resolve("patterns.svg");

        GdsRun run = gds("patterns", "--memory", "host", "-s", "1M", "-i", "64K:256K:*4", "-r", "2", "--dir",
                folder.toString(), "-o", chart.toString());

        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.out())
                .containsPattern("pattern 1: register and deregister.* +64 KiB +[0-9.]+ +[0-9.]+")
                .containsPattern("pattern 3: no registration +256 KiB")
                .containsPattern("by COMPAT_[A-Z]+ \\([0-9.]+ MiB\\)")
                .contains("median of 2, verified", "chart: " + chart);
        assertThat(Files.readString(chart)).startsWith("<?xml").contains("<svg", ">1 MiB by COMPAT_",
                ", median of 2<");
        assertThat(Files.list(folder)).as("no other files remain").containsExactly(chart);
    }

    @Test
    void chosenPatternsAreComparedAsJson() {
        JsonNode json = gds("patterns", "-p", "2,6", "--memory", "host", "-s", "256K", "-i", "16K", "-r", "1", "--dir",
                folder.toString(), "--json").json();

        assertThat(json.get("schema").asText()).isEqualTo("gds4j.patterns/1");
        assertThat(json.get("verified").asBoolean()).isTrue();
        assertThat(json.get("results")).hasSize(2);
        assertThat(json.get("results").get(1).get("name").asText()).isEqualTo("pattern-6");
        assertThat(json.get("results").get(1).get("microsPerRequest").asDouble()).isPositive();
        assertThat(bytesByPath(json)).as("at least what the loop reads").isGreaterThanOrEqualTo(256 << 10);
    }

    @Test
    void bytesByPathAreThoseOfMeasuredRuns() {
        String[] line = {"patterns", "-p", "2", "--memory", "host", "-s", "64K", "-i", "64K", "-r", "3", "--dir",
                folder.toString(), "--json"};

        long alone = bytesByPath(gds(line).json());
        long shared =
                bytesByPath(gds(Stream.concat(Stream.of(line), Stream.of("--stats")).toArray(String[]::new)).json());

        assertThat(alone).isPositive().isEqualTo(shared);
    }

    private static long bytesByPath(JsonNode json) {
        return json.get("results").get(0).get("ioPaths").properties().stream()
                .mapToLong(path -> path.getValue().asLong())
                .sum();
    }

    @Test
    void batchPatternUsesOnlySmallRequests() {
        JsonNode results =
                gds("patterns", "-p", "2,6", "--memory", "host", "-s", "512K", "-i", "64K:256K:*4", "-r", "1",
                        "--dir", folder.toString(), "--json").json().get("results");

        assertThat(results).extracting(point -> point.get("name").asText() + " " + point.get("ioSize").asLong())
                .containsExactly("pattern-2 65536", "pattern-2 262144", "pattern-6 65536");
    }

    @Test
    void statisticsCoverAllRunsOfAPattern() {
        String[] line = {"patterns", "-p", "1,2", "--memory", "host", "-s", "256K", "-i", "64K", "-r", "2", "--dir",
                folder.toString(), "--stats"};
        GdsRun run = gds(line);

        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.out()).contains("SESSION of pattern-1 (compat)", "SESSION of pattern-2 (compat)",
                // three runs, one of them the warm-up, each with two rounds of four requests
                "\nRead: ok = 24 err = 0", "\nBufRegister: ok = 24 err = 0", "\nBufRegister: ok = 3 err = 0");
        assertThat(gds("patterns", "-p", "2", "--memory", "host", "-s", "64K", "-i", "64K", "-r", "1", "--dir",
                folder.toString(), "--stats", "--json").json().get("stats").get("pattern-2").get("read_ops").get("ok")
                .asLong()).isEqualTo(4);
    }

    @Test
    void earlierResultIsShownAndDrawn() throws IOException {
        String printed = gds("patterns", "-p", "2,3", "--memory", "host", "-s", "128K", "-i", "16K:64K:*4", "-r", "1",
                "--dir", folder.toString(), "--json").out();
        Path result = Files.writeString(folder.resolve("result.json"), printed);
        Path chart = folder.resolve("chart.png");

        assertThat(gds("patterns", "--from", result.toString(), "--json").out()).isEqualTo(printed);
        assertThat(gds("patterns", "--from", result.toString(), "-o", chart.toString()).out())
                .containsPattern("pattern 3: no registration +16 KiB");
        assertThat(chart).isNotEmptyFile();
        Files.writeString(result, printed.replace("\"rounds\":1", "\"rounds\":-1"));
        assertThat(gds("patterns", "--from", result.toString()).errorLine())
                .isEqualTo("gds: " + result + ": has a negative number of bytes or rounds");
        Files.writeString(result, printed.replaceAll("(_[A-Z]+\":)", "$1-"));
        assertThat(gds("patterns", "--from", result.toString()).errorLine())
                .isEqualTo("gds: " + result + ": has a negative number of bytes");
        Files.writeString(result, "{\"schema\":\"gds4j.io/1\"}");
        assertThat(gds("patterns", "--from", result.toString()).errorLine())
                .isEqualTo("gds: " + result + ": is not output of gds patterns --json");
    }

    @Test
    void placeOfTheChartIsCheckedBeforeTheMeasurement() {
        Path chart = folder.resolve("missing/chart.svg");
        GdsRun run = gds("patterns", "-p", "2", "-s", "64K", "-i", "64K", "-r", "1", "--dir", folder.toString(), "-o",
                chart.toString());

        assertThat(run.status()).isEqualTo(3);
        assertThat(run.errorLine()).isEqualTo("gds: %s: there is no folder %s".formatted(chart, chart.getParent()));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            patterns -p 8           | there is no pattern 8
            patterns -p 6 -i 1M     | pattern 6 uses small requests: --io must start at 64K or less
            patterns -r 0           | --rounds is 0, allowed: 1 to 99
            patterns -s 1T          | --size is 1099511627776, allowed: 1 to 536870912
            patterns -i 4G          | --io is 4294967296, allowed: 1 to 536870912
            patterns -o chart.gif   | a chart's name ends in .svg or .png
            patterns --memory flash | --memory is 'flash'
            """)
    void wrongUsageIsOneLineAndStatusTwo(String line, String expected) {
        GdsRun run = gds(line.split(" "));

        assertThat(run.status()).isEqualTo(2);
        assertThat(run.errorLine()).startsWith("gds: ").contains(expected);
    }
}
