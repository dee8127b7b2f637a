package io.gds4j.tools;

import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Converts the path of a file or folder. */
final class PathConverter implements ITypeConverter<Path> {
    /** Stands for bytes of an argument that are no text. */
    private static final char REPLACEMENT = '\ufffd';
    private static final Pattern URL = Pattern.compile("([A-Za-z][A-Za-z0-9+.-]*)://.*", Pattern.DOTALL);

    /** Returns the scheme of a URL in small letters; empty if it is a path. */
    static String scheme(String value) {
        Matcher matcher = URL.matcher(value);
        return matcher.matches() ? matcher.group(1).toLowerCase(Locale.ROOT) : "";
    }

    @Override
    public Path convert(String value) {
        if (value.isEmpty()) {
            throw new TypeConversionException("the path is empty");
        }
        if (!scheme(value).isEmpty()) {
            // Not shown: a URL may hold a password.
            throw new TypeConversionException("a URL with %s:// is no path of a file".formatted(scheme(value)));
        }
        try {
            Path path = Path.of(value);
            if (value.indexOf(REPLACEMENT) >= 0 && !Files.exists(path)) {
                // Not another name in its place.
                throw new TypeConversionException(
                        "'%s': Java cannot use a name that is not valid UTF-8".formatted(value));
            }
            return path;
        } catch (InvalidPathException e) {
            throw new TypeConversionException("'%s' is not a valid path: %s".formatted(value, e.getReason()));
        }
    }
}
