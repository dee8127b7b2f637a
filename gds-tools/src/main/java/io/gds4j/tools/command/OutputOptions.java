package io.gds4j.tools.command;

import io.gds4j.tools.terminal.Output;
import io.gds4j.tools.terminal.Terminal;
import picocli.CommandLine.Option;

/** Options that every command has. */
class OutputOptions {
    @Option(names = "--json",
            description = "Print one JSON object on standard output, also on failure.")
    private boolean json;

    @Option(
            names = {"-q", "--quiet"},
            description = "Print only errors (and the JSON object).")
    private boolean quiet;

    @Option(names = "--no-progress",
            description = "Do not draw a progress bar. Only terminals ever show one.")
    private boolean noProgress;

    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            description = "Print this help and exit.")
    private boolean help;

    /** Returns the output of a command; its schema has the command's name. */
    Output of(Terminal terminal, String command) {
        return new Output(terminal, Output.schema(command), json, quiet, !noProgress);
    }
}
