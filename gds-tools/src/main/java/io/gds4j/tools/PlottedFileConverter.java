package io.gds4j.tools;

import io.gds4j.tools.plot.PlottedFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Converts {@code FILE} or {@code NAME=FILE}. A file whose own name has an equals sign is found first. */
final class PlottedFileConverter implements ITypeConverter<PlottedFile> {
    private static final PathConverter PATHS = new PathConverter();

    @Override
    public PlottedFile convert(String value) {
        Path whole = PATHS.convert(value);
        int equals = value.indexOf('=');
        if (equals < 0 || Files.exists(whole)) {
            return new PlottedFile(Optional.empty(), whole);
        }
        if (equals == 0) {
            throw new TypeConversionException("'%s' has no name before '='".formatted(value));
        }
        return new PlottedFile(Optional.of(value.substring(0, equals)), PATHS.convert(value.substring(equals + 1)));
    }
}
