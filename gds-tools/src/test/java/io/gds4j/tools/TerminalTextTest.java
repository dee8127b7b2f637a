package io.gds4j.tools;

import static io.gds4j.tools.GdsRun.gds;
import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Results on a terminal: wrapped at its width, and coloured. */
class TerminalTextTest {
    private static final Pattern ESCAPE = Pattern.compile("\u001b\\[[0-9;]*m");

    @TempDir
    private Path folder;

    private static String plain(String text) {
        return ESCAPE.matcher(text).replaceAll("");
    }

    private static List<String> words(String text) {
        return List.of(text.strip().split("\\s+"));
    }

    private static boolean isOneWord(String line) {
        return line.strip().indexOf(' ') < 0;
    }

    @ParameterizedTest
    @ValueSource(ints = {60, 100, 160})
    void linesEndBetweenWords(int columns) {
        Path file = TestCheckpoints.odd(folder.resolve("model.safetensors"));
        for (String line : List.of("load -t host --verify " + file, "help exit-codes",
                "io -d host -f " + file + " -s 4K -i 4K --warm-up 0")) {
            GdsRun run = GdsRun.onTerminal(
                    Map.of("COLUMNS", "" + columns, "TERM", "xterm"), line.split(" "));

            assertThat(run.status()).as(run.err()).isZero();
            assertThat(plain(run.out()).lines()).allMatch(
                    text -> text.length() <= columns || isOneWord(text.replaceFirst("^ +\\S+ +", "")));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {60, 100, 160})
    void verdictAndMachineFitTheTerminal(int columns) {
        GdsRun run = GdsRun.onTerminal(Map.of("COLUMNS", "" + columns, "TERM", "xterm"), "check", folder.toString());

        String text = plain(run.out());
        assertThat(text).startsWith("Works: ");
        assertThat(text.lines()).anyMatch(line -> line.length() > columns / 2).allMatch(
                line -> line.length() <= columns || isOneWord(line.replaceFirst("^ +(\\S+ +)?", "")));
        // free memory differs from run to run
        assertThat(words(text)).hasSameSizeAs(words(gds("check", folder.toString()).out()));
    }

    @Test
    void valueGoesOnBelowItsColumn() {
        String out = GdsRun.onTerminal(Map.of("COLUMNS", "60", "TERM", "dumb"), "check").out();

        assertThat(out).containsPattern("(?m)^  JDK           \\S.*\\n {16}\\S");
    }

    @Test
    void colourRepeatsWhatTheWordsSay() {
        GdsRun works = GdsRun.onTerminal(Map.of("COLUMNS", "100", "TERM", "xterm"), "check");
        GdsRun fails = GdsRun.onTerminal(
                Map.of("COLUMNS", "100", "TERM", "xterm"), "check", folder.resolve("missing").toString());

        assertThat(works.out()).startsWith("\u001b[1;32mWorks:\u001b[0m ").contains("\n\u001b[1mPlatform\u001b[0m\n")
                .contains("  \u001b[36msystem\u001b[0m ");
        assertThat(fails.out()).startsWith("\u001b[1;31mFails:\u001b[0m ");
        assertThat(fails.status()).isEqualTo(3);
    }

    @Test
    void verdictOfSeveralLinesHasOneColour() {
        String out = GdsRun.onTerminal(Map.of("COLUMNS", "60", "TERM", "xterm"), "check").out();

        String verdict = out.substring(0, out.indexOf("\n\n"));
        assertThat(verdict.lines().count()).isGreaterThan(1);
        assertThat(ESCAPE.matcher(verdict).results().map(MatchResult::group))
                .containsExactly("\u001b[1;32m", "\u001b[0m");
    }

    @ParameterizedTest
    @CsvSource({"40, 4", "60, 7", "160, 12"})
    void resultOfIoHasTheColumnsThatFit(int columns, int most) {
        Path file = TestCheckpoints.odd(folder.resolve("model.safetensors"));

        List<String> lines = GdsRun.onTerminal(
                Map.of("COLUMNS", "" + columns, "TERM", "dumb"), "io", "-d", "host", "-f", file.toString(), "-s", "4K",
                "-i", "4K", "--warm-up", "0").out().lines().dropWhile(line -> !line.startsWith("  job ")).toList();

        assertThat(lines).hasSize(2).allMatch(line -> line.length() <= columns);
        assertThat(lines.getFirst()).contains("throughput", "p99 µs");
        assertThat(lines.getFirst().strip().split(" {2,}")).hasSizeBetween(4, most);
        assertThat(lines.getFirst().contains("ops")).as("the last column to leave is the first")
                .isEqualTo(columns > 150);
    }

    @Test
    void noColorDumbTerminalAndPipeGetPlainText() {
        assertThat(GdsRun.onTerminal(Map.of("TERM", "xterm", "NO_COLOR", "1"), "check").out()).doesNotContain("\u001b");
        assertThat(GdsRun.onTerminal(Map.of("TERM", "dumb"), "check").out()).doesNotContain("\u001b");
        assertThat(GdsRun.gds(Map.of("TERM", "xterm", "COLUMNS", "40"), () -> true, "check").out())
                .doesNotContain("\u001b").startsWith("Works: ");
        assertThat(gds("check").out().lines()).anyMatch(line -> line.length() > 80);
    }

    @Test
    void verdictIsInTheJsonObject() {
        assertThat(gds("check", "--json").json().get("verdict").get("works").asBoolean()).isTrue();
        GdsRun missing = gds("check", "--json", folder.resolve("missing").toString());
        assertThat(missing.json().get("verdict").get("works").asBoolean()).isFalse();
        assertThat(missing.json().get("verdict").get("text").asText()).contains("missing: no such file");
        assertThat(
                gds("check", "--json", "--require", "odirect", "/dev/shm").json().get("verdict").get("text").asText())
                .isEqualTo("Fails: /dev/shm has no direct I/O");
    }
}
