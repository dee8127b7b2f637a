package io.gds4j.tools;

import io.gds4j.error.CuFileException;
import io.gds4j.remote.HttpFiles;
import io.gds4j.remote.HttpOptions;
import java.net.URI;
import java.nio.file.Path;
import java.util.Locale;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Converts the path or the URL of a checkpoint. */
final class CheckpointPathConverter implements ITypeConverter<Path> {
    private final PathConverter paths = new PathConverter();

    @Override
    public Path convert(String value) {
        String start = value.toLowerCase(Locale.ROOT);
        if (!start.startsWith("http://") && !start.startsWith("https://")) {
            return paths.convert(value);
        }
        try {
            return HttpFiles.path(URI.create(value), HttpOptions.DEFAULTS);
        } catch (IllegalArgumentException | CuFileException e) {
            // The message of either may hold a password.
            throw new TypeConversionException("this is not a valid URL; spaces and brackets need percent signs");
        }
    }
}
