package io.gds4j.tools;

import static io.gds4j.tools.GdsRun.gds;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.gds4j.tools.terminal.ExitStatus;
import io.gds4j.tools.terminal.Terminal;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class CommandLineTest {
    @TempDir
    private Path folder;

    @ParameterizedTest
    @ValueSource(strings = {"--version", "-V"})
    void versionNamesBuildJdkAndLibrary(String option) {
        GdsRun run = gds(option);

        assertThat(run.status()).isZero();
        assertThat(run.err()).isEmpty();
        assertThat(run.out()).containsPattern("^gds4j \\d+\\.\\d+\\.\\d+\\S* \\(commit \\S+\\)\n");
        assertThat(run.out()).contains("JDK ").contains(System.getProperty("java.runtime.version"))
                .contains("libcufile ");
    }

    @Test
    void versionAsJson() {
        GdsRun run = gds("--version", "--json");

        JsonNode json = run.json();
        assertThat(json.get("schema").asText()).isEqualTo("gds4j.version/1");
        assertThat(json.get("version").asText()).matches("\\d+\\.\\d+\\.\\d+.*");
        assertThat(json.get("commit").asText()).isNotEmpty();
        assertThat(json.get("jdk").asText()).isEqualTo(System.getProperty("java.runtime.version"));
        assertThat(json.has("libcufile")).isTrue();
    }

    @Test
    void helpNamesExactlyTheCommands() {
        GdsRun run = gds("--help");

        assertThat(run.status()).isZero();
        assertThat(run.err()).isEmpty();
        assertThat(run.out()).contains("gds demo").contains("gds check").contains("gds load");
        assertThat(run.out()).contains("gds io").contains("  stats ");
        assertThat(run.out().lines()).allSatisfy(line -> assertThat(line).hasSizeLessThanOrEqualTo(80));
    }

    @Test
    void helpOnExitCodesNamesEveryStatus() {
        GdsRun run = gds("help", "exit-codes");

        assertThat(run.status()).isZero();
        for (ExitStatus status : ExitStatus.values()) {
            assertThat(run.out()).containsPattern("(?m)^ +" + status.code() + "  \\S");
        }
        assertThat(gds("help", "exit-codes", "--json").json().get("exitCodes")).hasSize(9);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
                    ''                        | a command is missing
                    frobnicate                | unknown command 'frobnicate'
                    laod                      | unknown command 'laod'; did you mean load?
                    help laod                 | there is no help on 'laod'; did you mean load?
                    load x --tragte host      | did you mean --target?
                    load -- x -q              | one argument too many: '-q' (gds load
                    load -- x --target=host   | one argument too many: '--target=host' (gds load
                    load x --gpu 3            | did you mean --target gpu:N?
                    io -f x -i 64K-1M         | several sizes are MIN:MAX:STEP
                    load x --tragte=host      | did you mean --target?
                    chekc --jsno              | did you mean check
                    --no-such-option          | Unknown option: '--no-such-option'
                    help nothing              | no help on 'nothing'
                    """)
    void wrongUsageIsOneLineAndStatusTwo(String line, String expected) {
        GdsRun run = gds(line.isEmpty() ? new String[0] : line.split(" "));

        assertThat(run.status()).isEqualTo(2);
        assertThat(run.out()).isEmpty();
        assertThat(run.errorLine()).startsWith("gds: ").contains(expected).contains("--help");
    }

    @Test
    void helpOnACommandShowsItsUsage() {
        GdsRun run = gds("help", "load");

        assertThat(run.out()).isEqualTo(gds("load", "--help").out()).contains("--target").contains("Examples:");
        assertThat(gds("help", "load", "--json").json().get("text").asText()).isEqualTo(run.out());
    }

    @Test
    void helpTextsFitEightyColumns() {
        for (String command : new String[]{"demo", "load", "convert", "check", "records", "rdma", "sample", "patterns",
                "stats", "top", "explain", "completion",
                "help"}) {
            assertThat(gds("help", command).out().lines())
                    .allSatisfy(line -> assertThat(line).hasSizeLessThanOrEqualTo(80));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"demo", "load", "check", "io", "stats", "top"})
    void linesBelowTheOptionsAreNotWrappedAgain(String command) {
        assertThat(GdsCommand.commandLine(Terminal.ofProcess(), command).getSubcommands().get(command).getCommandSpec()
                .usageMessage().footer())
                .allSatisfy(line -> assertThat(line).hasSizeLessThan(80));
    }

    @Test
    void argumentWithAtSignIsAPath() {
        assertThat(gds("load", "@model").errorLine()).isEqualTo("gds: @model: no such file or folder");
    }

    @Test
    void emptyPathIsWrongUsage() {
        GdsRun run = gds("load", "");

        assertThat(run.status()).isEqualTo(2);
        assertThat(run.errorLine()).contains("the path is empty");
    }

    @Test
    void wrongUsageWithJsonPrintsAnErrorObject() {
        GdsRun run = gds("frobnicate", "--json");

        assertThat(run.status()).isEqualTo(2);
        JsonNode error = run.json().get("error");
        assertThat(error.get("name").asText()).isEqualTo("USAGE");
        assertThat(error.get("message").asText()).contains("frobnicate");
        assertThat(error.fieldNames())
                .toIterable()
                .contains("code", "name", "errno", "message", "file", "offset", "tensor");
        assertThat(run.errorLine()).startsWith("gds: ");
    }

    @Test
    void internalErrorShowsAStackTraceAndAsksForAReport() {
        Path file = TestCheckpoints.odd(folder.resolve("model.safetensors"));

        GdsRun run = GdsRun.gds(Map.of(), () -> {
            throw new IllegalStateException("a fault for the test");
        }, "load", file.toString(), "--target", "host", "--json");

        assertThat(run.status()).isEqualTo(1);
        assertThat(run.err())
                .contains("IllegalStateException: a fault for the test")
                .contains("    at io.gds4j.tools.")
                .contains("please report it");
        assertThat(run.json().get("error").get("exitStatus").asInt()).isEqualTo(1);
    }
}
