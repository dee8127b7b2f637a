package io.gds4j.tools;

import static io.gds4j.tools.GdsRun.gds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gds4j.tools.command.Converters;
import io.gds4j.tools.terminal.Terminal;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;

class CompletionCommandTest {
    @TempDir
    private Path folder;

    @ParameterizedTest
    @CsvSource({"gds, dem, demo", "gds, comp, completion", "gds demo, --ke, --keep", "gds load, --ver, --verify",
            "gds completion, z, zsh", "gds check --require, g, gpu", "gds load --target, h, host",
            "gds records --remainder, p, pad", "gds help, exp, explain", "gds help, ex, exit-codes"})
    void bashCompletesCommandsOptionsAndValues(String line, String begun, String expected) throws Exception {
        assertThat(completions(line, begun)).contains(expected);
    }

    @Test
    void bashCompletesPathsOfOptions() throws Exception {
        Files.createFile(folder.resolve("model.safetensors"));

        assertThat(completions("gds io -f", "mod")).containsExactly("model.safetensors");
    }

    @Test
    void scriptForZshEnablesBashCompletion() {
        GdsRun run = gds("completion", "zsh");

        assertThat(run.status()).isZero();
        assertThat(run.err()).isEmpty();
        assertThat(run.out()).contains("bashcompinit").contains("complete -F _complete_gds").endsWith("\n");
    }

    @Test
    void scriptForFishHasEveryCommandAndOption() {
        GdsRun run = gds("completion", "fish");

        assertThat(run.status()).isZero();
        assertThat(run.out()).contains("-s 't' -l 'target' -x").contains("-a 'load' -d 'Load a checkpoint")
                .containsPattern("from completion' -f -a 'bash zsh fish'").contains("-l 'dir' -r -F");
        List<String> lines = run.out().lines().toList();
        GdsCommand.commandLine(Terminal.ofProcess()).getSubcommands().forEach((name, command) -> command
                .getCommandSpec().options().forEach(option -> assertThat(lines).as(option.longestName())
                        .anyMatch(line -> line.contains("_from " + name + "'")
                                && line.contains("'" + option.longestName().replaceFirst("^-+", "") + "'"))));
    }

    @Test
    void fishAcceptsItsScript() throws Exception {
        assumeTrue(Files.isExecutable(Path.of("/usr/bin/fish")), "fish is not installed: its completion did not run");
        Path script = Files.writeString(folder.resolve("gds.fish"), gds("completion", "fish").out());
        Process fish = new ProcessBuilder(
                "/usr/bin/fish", "-c", "source " + script + "; complete -C 'gds load --tar'; complete -C 'gds che'")
                .directory(folder.toFile()).start();
        fish.getOutputStream().close();

        assertThat(new String(fish.getInputStream().readAllBytes(), StandardCharsets.UTF_8))
                .contains("--target\t").contains("check\t");
        assertThat(new String(fish.getErrorStream().readAllBytes(), StandardCharsets.UTF_8)).isEmpty();
    }

    @Test
    void optionsTakeTheWordsThatShellsComplete() {
        int words = 0;
        for (CommandLine command : GdsCommand.commandLine(Terminal.ofProcess()).getSubcommands().values()) {
            for (OptionSpec option : command.getCommandSpec().options()) {
                for (String word : option.completionCandidates() == null ? List.<String>of()
                        : option.completionCandidates()) {
                    assertThatCode(() -> alone(option).parseArgs(option.longestName(), word))
                            .as("gds %s %s", command.getCommandName(), option.longestName())
                            .doesNotThrowAnyException();
                    assertThat(word).isLowerCase();
                    words++;
                }
            }
        }
        assertThat(words).isGreaterThan(20);
    }

    /** Returns a command that has only this option. */
    private static CommandLine alone(OptionSpec option) {
        CommandSpec command = CommandSpec.create().addOption(OptionSpec.builder(option).build());
        return Converters.register(new CommandLine(command)).setCaseInsensitiveEnumValuesAllowed(true);
    }

    @Test
    void jsonHoldsTheScript() {
        GdsRun run = gds("completion", "bash", "--json");

        assertThat(run.json().get("schema").asText()).isEqualTo("gds4j.completion/1");
        assertThat(run.json().get("shell").asText()).isEqualTo("bash");
        assertThat(run.json().get("script").asText()).isEqualTo(gds("completion", "bash").out());
    }

    @ParameterizedTest
    @ValueSource(strings = {"completion", "completion tcsh"})
    void missingOrUnknownShellIsWrongUsage(String line) {
        GdsRun run = gds(line.split(" "));

        assertThat(run.status()).isEqualTo(2);
        assertThat(run.errorLine()).contains("SHELL");
    }

    /** What a real bash offers for the last word. */
    private List<String> completions(String line, String begun) throws IOException, InterruptedException {
        Path script = Files.writeString(folder.resolve("script"), gds("completion", "bash").out());
        Path ask = Files.writeString(folder.resolve("ask"), """
                source %s
                COMP_WORDS=(%s %s)
                COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
                COMP_LINE="${COMP_WORDS[*]}"
                COMP_POINT=${#COMP_LINE}
                compopt() { :; }
                _complete_gds
                printf '%%s\\n' "${COMPREPLY[@]}"
                """.formatted(script, line, begun));
        Process bash = new ProcessBuilder("bash", "--norc", ask.toString()).directory(folder.toFile()).start();
        bash.getOutputStream().close();
        String out = new String(bash.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        String err = new String(bash.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(bash.waitFor(30, TimeUnit.SECONDS)).isTrue();
        assertThat(err).isEmpty();
        return out.lines().map(String::strip).toList();
    }
}
