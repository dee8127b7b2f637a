package io.gds4j.tools.command;

import io.gds4j.tools.terminal.ExitStatus;
import io.gds4j.tools.terminal.Fields;
import io.gds4j.tools.terminal.Nearest;
import io.gds4j.tools.terminal.Output;
import io.gds4j.tools.terminal.Terminal;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Options of {@code gds help}, and the help itself. */
@Command(
        name = "help",
        description = "Explain a command or the exit status ('gds help exit-codes').")
final class HelpCommand implements Callable<Integer> {
    static final String EXIT_CODES = "exit-codes";

    private final Terminal terminal;

    @Spec
    @SuppressWarnings("NullAway.Init")
    private CommandSpec spec;

    @Mixin
    private final OutputOptions output = new OutputOptions();

    @Parameters(arity = "0..1", paramLabel = "TOPIC", completionCandidates = Topics.class,
            description = "Name of a command, or exit-codes.")
    private @Nullable String topic;

    /** What there is help on. */
    static final class Topics extends ArrayList<String> {
        private static final long serialVersionUID = 1L;

        Topics() {
            super(Subcommands.NAMES);
            add(EXIT_CODES);
        }
    }

    HelpCommand(Terminal terminal) {
        this.terminal = terminal;
    }

    @Override
    public Integer call() {
        CommandLine gds = spec.parent().commandLine();
        if (topic == null) {
            usage(gds);
        } else if (EXIT_CODES.equals(topic)) {
            exitCodes();
        } else {
            CommandLine command = gds.getSubcommands().get(topic);
            if (command == null) {
                throw new ParameterException(
                        spec.commandLine(),
                        "there is no help on '%s'%s; topics: %s, %s"
                                .formatted(topic, Nearest.to(topic, gds.getSubcommands().keySet())
                                        .map("; did you mean %s?"::formatted).orElse(""),
                                        String.join(", ", gds.getSubcommands().keySet()), EXIT_CODES));
            }
            usage(command);
        }
        return ExitStatus.DONE.code();
    }

    private void usage(CommandLine command) {
        Output to = output.of(terminal, "help");
        if (to.json()) {
            to.print(object -> object.put("text", command.getUsageMessage(CommandLine.Help.Ansi.OFF)), List::of);
        } else {
            command.usage(command.getOut());
        }
    }

    private void exitCodes() {
        Output to = output.of(terminal, EXIT_CODES);
        to.print(object -> object.put("exitCodes", Stream.of(ExitStatus.values())
                .map(status -> Fields.of("status", status.code()).and("meaning", status.meaning()).map())
                .toList()),
                () -> Stream.concat(
                        Stream.of("Exit status of every gds command:", ""),
                        Stream.of(ExitStatus.values())
                                .map(status -> "  %3s  %s".formatted(status.code(), status.meaning())))
                        .toList());
    }
}
