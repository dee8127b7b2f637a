package io.gds4j.tools;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ProgressTest {
    @TempDir
    private Path folder;

    private GdsRun load(Map<String, String> environment, boolean terminal, String... more) {
        Path file = TestCheckpoints.odd(folder.resolve("model.safetensors"));
        String[] line = new String[4 + more.length];
        line[0] = "load";
        line[1] = file.toString();
        line[2] = "--target";
        line[3] = "host";
        System.arraycopy(more, 0, line, 4, more.length);
        return GdsRun.gds(environment, () -> terminal, line);
    }

    @Test
    void barOnATerminalIsErasedAtTheEnd() {
        GdsRun run = load(Map.of("TERM", "xterm", "COLUMNS", "72"), true);

        assertThat(run.err()).contains("loading").contains("100%").endsWith("\r").doesNotContain("\n");
        assertThat(run.err().split("\r")).allSatisfy(line -> assertThat(line).hasSizeLessThan(72));
        assertThat(run.out()).doesNotContain("\r");
    }

    @Test
    void shardsAreLoadedWithEitherProgress() throws Exception {
        Path model = folder.resolve("sharded");
        TestCheckpoints.sharded(model);
        Map<String, String> lines = Map.of("TERM", "xterm", "COLUMNS", "72");
        Map<String, String> bar = Map.of("TERM", "xterm", "COLUMNS", "72", "NO_COLOR", "1");

        GdsRun run = GdsRun.gds(lines, () -> true, "load", model.toString(), "-t", "host", "--verify");
        assertThat(run.status()).as(run.err()).isZero();
        assertThat(GdsRun.gds(bar, () -> true, "load", model.toString(), "-t", "host").err())
                .contains("loading").doesNotContain("\u001b");
    }

    @Test
    void noColorExcludesEscapeSequences() {
        assertThat(load(Map.of("TERM", "xterm", "NO_COLOR", "1"), true).err()).doesNotContain("\u001b");
    }

    @ParameterizedTest
    @CsvSource({"xterm, false, --verify", "dumb, true, --verify", "xterm, true, --quiet", "xterm, true, --no-progress"})
    void pipeDumbTerminalAndOptionsDisableTheBar(String term, boolean terminal, String option) {
        assertThat(load(Map.of("TERM", term), terminal, option).err()).isEmpty();
    }

    @Test
    void jsonAllowsProgress() {
        GdsRun run = load(Map.of("TERM", "xterm"), true, "--json");

        assertThat(run.err()).contains("loading");
        assertThat(run.json().get("schema").asText()).isEqualTo("gds4j.load/1");
    }
}
