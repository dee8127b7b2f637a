package io.gds4j.tools;

import io.gds4j.tools.terminal.OutputMode;
import picocli.CommandLine.Option;

/** Options of every command on what it says and how. */
final class OutputOptions {
    @Option(names = "--json",
            description = "Print one JSON object on standard output, also on failure.")
    private boolean json;

    @Option(
            names = {"-q", "--quiet"},
            description = "Print nothing but errors (and the JSON object).")
    private boolean quiet;

    @Option(names = "--no-progress",
            description = "Draw no progress bar. There is none in a pipe anyway.")
    private boolean noProgress;

    OutputMode mode() {
        return new OutputMode(json, quiet, !noProgress);
    }
}
