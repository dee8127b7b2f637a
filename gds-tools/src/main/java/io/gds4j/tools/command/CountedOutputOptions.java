package io.gds4j.tools.command;

import io.gds4j.tools.terminal.Output;
import io.gds4j.tools.terminal.Terminal;
import picocli.CommandLine.Option;

/** Options of the output of commands that move bytes. */
final class CountedOutputOptions extends OutputOptions {
    @Option(names = "--stats",
            description = "Print the statistics at the end, as gds stats does: calls, bytes, sizes, each GPU."
                    + " They include warm-up and verification.")
    private boolean statistics;

    @Override
    Output of(Terminal terminal, String command) {
        Output plain = super.of(terminal, command);
        return statistics ? plain.counting() : plain;
    }
}
