package io.gds4j.tools;

import io.gds4j.tools.terminal.OutputMode;
import picocli.CommandLine.Option;

/** Output options that every command has. */
final class OutputOptions {
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

    OutputMode mode() {
        return new OutputMode(json, quiet, !noProgress);
    }
}
