package io.gds4j.tools.command;

import io.gds4j.tools.terminal.Terminal;
import java.util.List;
import java.util.function.ToIntFunction;

/** The subcommands of {@code gds}. */
public final class Subcommands {
    /** Their names, in the order of the help. */
    public static final List<String> NAMES = List.of(
            "demo", "load", "explain", "convert", "records", "check", "io", "plot", "rdma", "sample", "patterns",
            "stats", "top", "completion", "help");

    /** These two print texts about all subcommands. */
    private static final List<String> ABOUT_ALL = List.of("completion", "help");

    private Subcommands() {
    }

    /** Returns whether words name a subcommand that needs no other one. */
    public static boolean isAlone(String name) {
        return NAMES.contains(name) && !ABOUT_ALL.contains(name);
    }

    /**
     * Makes a subcommand.
     *
     * @param lines runs a command line, for subcommands that run several
     */
    public static Object of(String name, Terminal terminal, ToIntFunction<String[]> lines) {
        return switch (name) {
            case "demo" -> new DemoCommand(terminal);
            case "load" -> new LoadCommand(terminal);
            case "explain" -> new ExplainCommand(terminal);
            case "convert" -> new ConvertCommand(terminal);
            case "records" -> new RecordsCommand(terminal);
            case "check" -> new CheckCommand(terminal);
            case "io" -> new IoCommand(terminal, lines);
            case "plot" -> new PlotCommand(terminal);
            case "rdma" -> new RdmaCommand(terminal);
            case "sample" -> new SampleCommand(terminal);
            case "patterns" -> new PatternsCommand(terminal);
            case "stats" -> new StatsCommand(terminal);
            case "top" -> new TopCommand(terminal);
            case "completion" -> new CompletionCommand(terminal);
            case "help" -> new HelpCommand(terminal);
            default -> throw new IllegalArgumentException(name);
        };
    }
}
