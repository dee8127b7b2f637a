package io.gds4j.tools.command;

import io.gds4j.tools.report.Report;
import io.gds4j.tools.terminal.BuildInfo;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The option {@code --report} of commands that move bytes. */
final class ReportOption {
    @Option(names = "--report", paramLabel = "FILE.html",
            description = "Write a page about the run: when each file was read and each GPU copied to or waited for, I/O"
                    + " paths, spread, topology and advice. Records events, which costs a little speed.")
    private @Nullable Path file;

    boolean isGiven() {
        return file != null;
    }

    /** Returns the report of a command about files; empty if none is wanted. */
    Optional<Report> of(String command, List<Path> subjects) {
        return file == null
                ? Optional.empty()
                : Optional.of(new Report(file, command, subjects, BuildInfo.read().version()));
    }
}
