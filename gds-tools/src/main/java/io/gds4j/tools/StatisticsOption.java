package io.gds4j.tools;

import io.gds4j.tools.terminal.OutputMode;
import picocli.CommandLine.Option;

/** The option of commands that move bytes to say in the end what was counted. */
final class StatisticsOption {
    @Option(names = "--stats",
            description = "Count, and print in the end what gds stats prints: all calls and bytes, sizes, each GPU."
                    + " Warm-up and verification are counted, too.")
    private boolean statistics;

    OutputMode with(OutputMode mode) {
        return statistics ? mode.counting() : mode;
    }
}
