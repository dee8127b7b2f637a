package io.gds4j.tools;

import java.util.List;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Converts the name of a backend, as {@code --backend} takes it. */
final class BackendConverter implements ITypeConverter<String> {
    private static final List<String> NAMES = List.of("auto", "compat", "libcufile");

    @Override
    public String convert(String value) {
        if (!NAMES.contains(value)) {
            throw new TypeConversionException(
                    "'" + value + "' is not a backend: allowed are " + String.join(", ", NAMES));
        }
        return value;
    }
}
