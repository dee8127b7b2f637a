package io.gds4j.tools;

import io.gds4j.config.DirectStorage;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

/** The option {@code --direct-storage} of commands that open a driver. */
final class DirectStorageOption {
    /** Converts the words that the option takes. */
    static final class Words implements ITypeConverter<DirectStorage> {
        @Override
        public DirectStorage convert(String value) {
            return Arrays.stream(DirectStorage.values())
                    .filter(known -> known.name().toLowerCase(Locale.ROOT).equals(value))
                    .findFirst()
                    .orElseThrow(() -> new TypeConversionException(
                            "'" + value + "' is not allowed: allowed are auto, require, off"));
        }
    }

    @Option(names = "--direct-storage", paramLabel = "WHEN", converter = Words.class,
            completionCandidates = Candidates.Demands.class,
            description = "GPUDirect Storage: auto (where possible), require (status 4 if it cannot serve) or off (POSIX I/O)."
                    + " Default: as configured, else auto.")
    private @Nullable DirectStorage value;

    /** Returns the value; empty if the configuration decides. */
    Optional<DirectStorage> value() {
        return Optional.ofNullable(value);
    }
}
