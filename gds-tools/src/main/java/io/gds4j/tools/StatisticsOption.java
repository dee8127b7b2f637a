package io.gds4j.tools;

import io.gds4j.tools.terminal.Output;
import picocli.CommandLine.Option;

/** The option {@code --stats} of commands that move bytes. */
final class StatisticsOption {
    @Option(names = "--stats",
            description = "Print the statistics at the end, as gds stats does: calls, bytes, sizes, each GPU."
                    + " They include warm-up and verification.")
    private boolean statistics;

    Output with(Output output) {
        return statistics ? output.counting() : output;
    }
}
