package io.gds4j.tools.command;

import io.gds4j.config.DirectStorage;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The option {@code --direct-storage} of commands that open a driver. */
final class DirectStorageOption {
    @Option(names = "--direct-storage", paramLabel = "WHEN",
            completionCandidates = Candidates.Demands.class,
            description = "GPUDirect Storage: auto (where possible), require (status 4 if it cannot serve) or off (POSIX I/O)."
                    + " Default: as configured, else auto.")
    private @Nullable DirectStorage value;

    /** Returns the value; empty if the configuration decides. */
    Optional<DirectStorage> value() {
        return Optional.ofNullable(value);
    }
}
