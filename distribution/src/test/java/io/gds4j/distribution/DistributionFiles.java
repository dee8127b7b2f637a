package io.gds4j.distribution;

import io.gds4j.tools.GdsCommand;
import io.gds4j.tools.terminal.Terminal;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;

/**
 * Writes manual pages and completion scripts, for the archive. Their places below {@code share} are those in which man,
 * bash-completion, zsh and fish look for the files of a command. The build starts it once it has compiled the tests.
 */
final class DistributionFiles {
    /**
     * The file in which zsh looks for the completion of gds. zsh runs it as a function at the first completion, and the script
     * registers the function for later ones.
     */
    private static final String ZSH = """
            #compdef gds
            %s
            _bash_complete -o default -F _complete_gds
            """;

    private DistributionFiles() {
    }

    /** Writes the files below the folder of the first argument, and creates the folders that it lacks; the second is the version. */
    static void main(String[] args) throws IOException {
        Path folder = Path.of(args[0]);
        text(folder.resolve("bash-completion/completions/gds"), gds("completion", "bash"));
        text(folder.resolve("zsh/site-functions/_gds"), ZSH.formatted(gds("completion", "zsh")));
        text(folder.resolve("fish/vendor_completions.d/gds.fish"), gds("completion", "fish"));
        for (CommandSpec command : commands(GdsCommand.commandLine(Terminal.ofProcess()))) {
            text(folder.resolve("man/man1").resolve(ManualPage.name(command) + ".1"), ManualPage.of(command, args[1]));
        }
    }

    /** Returns what a command prints. */
    static String gds(String... args) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        int status = GdsCommand.run(
                new Terminal(
                        new PrintStream(out, false, StandardCharsets.UTF_8), System.err, Map.of(), () -> false,
                        () -> false),
                args);
        if (status != 0) {
            throw new IllegalStateException("gds %s ended with status %s".formatted(String.join(" ", args), status));
        }
        return out.toString(StandardCharsets.UTF_8);
    }

    private static List<CommandSpec> commands(CommandLine gds) {
        return Stream.concat(Stream.of(gds), gds.getSubcommands().values().stream())
                .map(CommandLine::getCommandSpec)
                .toList();
    }

    private static void text(Path file, String text) throws IOException {
        Files.createDirectories(file.getParent());
        Files.writeString(file, text);
    }
}
