package io.gds4j.tools.command;

import java.util.List;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

/** The option {@code --backend} of commands that open a driver. */
final class BackendOption {
    private static final List<String> NAMES = List.of("auto", "compat", "libcufile");

    /** Converts the names that the option takes. */
    static final class Names implements ITypeConverter<String> {
        @Override
        public String convert(String value) {
            if (!NAMES.contains(value)) {
                throw new TypeConversionException(
                        "'" + value + "' is not a backend: allowed are " + String.join(", ", NAMES));
            }
            return value;
        }
    }

    @Option(names = "--backend", paramLabel = "NAME", converter = Names.class,
            completionCandidates = Candidates.Backends.class,
            description = "auto, compat (gds4j's own engine) or libcufile (NVIDIA's library). Default: auto.")
    private String value = "auto";

    String value() {
        return value;
    }

    /** Returns whether gds4j chooses. */
    boolean isAuto() {
        return value.equals(NAMES.getFirst());
    }
}
