package io.gds4j.tools;

import io.gds4j.tools.terminal.Terminal;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;

/**
 * Writes manual pages and completion scripts, for the distribution. Their places below {@code share} are those in which man,
 * bash-completion, zsh and fish look for the files of a command.
 */
public final class DistributionFiles {
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

    /** Entry point of the build: the only argument is the folder to write to. */
    public static void main(String[] args) throws IOException {
        write(Path.of(args[0]));
    }

    /** Writes the files below a folder, and creates the folders that it lacks. */
    static void write(Path folder) throws IOException {
        CommandLine gds = GdsCommand.commandLine(Terminal.ofProcess());
        String script = CompletionCommand.script(gds);
        text(folder.resolve("bash-completion/completions/gds"), script);
        text(folder.resolve("zsh/site-functions/_gds"), ZSH.formatted(script));
        text(folder.resolve("fish/vendor_completions.d/gds.fish"), FishCompletion.script(gds));
        String version = BuildInfo.read().version();
        for (CommandSpec command : commands(gds)) {
            text(folder.resolve("man/man1").resolve(ManualPage.name(command) + ".1"), ManualPage.of(command, version));
        }
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
