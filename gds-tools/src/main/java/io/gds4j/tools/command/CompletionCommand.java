package io.gds4j.tools.command;

import io.gds4j.tools.terminal.ExitStatus;
import io.gds4j.tools.terminal.Output;
import io.gds4j.tools.terminal.Terminal;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.AutoComplete;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Prints the script with which a shell completes the commands and options of gds. */
@Command(
        name = "completion",
        description = "Print a script with which bash, zsh or fish completes commands, options and paths.",
        footer = {
                "  source <(gds completion bash)   in ~/.bashrc",
                "  source <(gds completion zsh)    in ~/.zshrc",
                "  gds completion fish | source   in ~/.config/fish/config.fish"})
final class CompletionCommand implements Callable<Integer> {
    /** Shells with a completion script. */
    enum Shell {
        BASH,
        ZSH,
        FISH;

        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    private final Terminal terminal;

    @Spec
    @SuppressWarnings("NullAway.Init")
    private CommandSpec spec;

    @Mixin
    private final OutputOptions output = new OutputOptions();

    @Parameters(paramLabel = "SHELL", description = "One of ${COMPLETION-CANDIDATES}.")
    private Shell shell = Shell.BASH;

    CompletionCommand(Terminal terminal) {
        this.terminal = terminal;
    }

    /** Returns the script for bash and zsh: in zsh it enables bashcompinit, which understands completions of bash. */
    static String script(CommandLine gds) {
        return AutoComplete.bash(gds.getCommandName(), gds);
    }

    @Override
    public Integer call() {
        CommandLine gds = spec.root().commandLine();
        String script = shell == Shell.FISH ? FishCompletion.script(gds) : script(gds);
        Output to = output.of(terminal, spec.name());
        if (to.json()) {
            to.print(object -> {
                object.put("shell", shell.toString());
                object.put("script", script);
            }, List::of);
        } else {
            terminal.out().print(script);
        }
        return ExitStatus.DONE.code();
    }
}
