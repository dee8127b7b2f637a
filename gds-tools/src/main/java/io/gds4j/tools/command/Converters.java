package io.gds4j.tools.command;

import io.gds4j.config.DirectStorage;
import io.gds4j.dataset.Remainder;
import io.gds4j.error.CuFileException;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.parallel.AttentionHeads;
import io.gds4j.tools.io.IoJob.Sizes;
import io.gds4j.tools.load.LoadArguments.ParallelMode;
import io.gds4j.tools.load.Target;
import io.gds4j.tools.plot.PlotRun.PlottedFile;
import io.gds4j.tools.terminal.Units;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import java.util.stream.Stream;
import picocli.CommandLine;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** How words of a command line become values. */
public final class Converters {
    /** Stands for bytes of an argument that are no text. */
    private static final char REPLACEMENT = '\ufffd';
    private static final Pattern URL = Pattern.compile("([A-Za-z][A-Za-z0-9+.-]*)://.*", Pattern.DOTALL);
    private static final Pattern HEADS = Pattern.compile("(\\d{1,9})(?:,([1-9]\\d{0,8}))?");

    private Converters() {
    }

    /** A number of bytes, with or without a suffix. */
    public static final class Size implements ITypeConverter<Long> {
        @Override
        public Long convert(String value) throws Exception {
            return checked(Units::parseBytes).convert(value);
        }
    }

    /** gdsio's {@code -d}: the number of a GPU, or a target as {@code --target} takes it. */
    public static final class Device implements ITypeConverter<Target> {
        @Override
        public Target convert(String value) {
            if (value.matches("\\d{1,4}")) {
                return Target.gpu(Integer.parseInt(value));
            }
            try {
                return Target.parse(value);
            } catch (IllegalArgumentException e) {
                throw new TypeConversionException(
                        "'" + value + "' is not a GPU: allowed are a number, gpu:N and host");
            }
        }
    }

    /** Has a command and its subcommands read values of these types alike. */
    public static CommandLine register(CommandLine line) {
        return line.registerConverter(Path.class, Converters::path)
                .registerConverter(PlottedFile.class, Converters::plotted)
                .registerConverter(Pattern.class, Converters::regex)
                .registerConverter(Target.class, checked(Target::parse))
                .registerConverter(ParallelMode.class, checked(ParallelMode::parse))
                .registerConverter(Sizes.class, checked(Sizes::parse))
                .registerConverter(AttentionHeads.class, Converters::heads)
                .registerConverter(DType.class, checked(Converters::floats))
                .registerConverter(Remainder.class,
                        value -> constant(Remainder.class, value, "is not one of keep, drop and pad"))
                .registerConverter(DirectStorage.class,
                        value -> constant(DirectStorage.class, value,
                                "is not allowed: allowed are auto, require, off"));
    }

    private static DType floats(String value) {
        return DType.of(value.toUpperCase(Locale.ROOT)).filter(Set.of(DType.F32, DType.F16, DType.BF16)::contains)
                .orElseThrow(() -> new IllegalArgumentException(
                        "'" + value + "' is no type to convert to: allowed are F32, F16 and BF16"));
    }

    /** Returns a converter whose parser refuses text by an IllegalArgumentException. */
    private static <T> ITypeConverter<T> checked(Function<String, T> parser) {
        return value -> {
            try {
                return parser.apply(value);
            } catch (IllegalArgumentException e) {
                throw new TypeConversionException(e.getMessage());
            }
        };
    }

    private static <E extends Enum<E>> E constant(Class<E> type, String value, String refusal) {
        return Stream.of(type.getEnumConstants())
                .filter(known -> known.name().toLowerCase(Locale.ROOT).equals(value))
                .findFirst()
                .orElseThrow(() -> new TypeConversionException("'" + value + "' " + refusal));
    }

    /** Returns the scheme of a URL in small letters; empty if it is a path. */
    static String scheme(String value) {
        Matcher matcher = URL.matcher(value);
        return matcher.matches() ? matcher.group(1).toLowerCase(Locale.ROOT) : "";
    }

    /** Returns the path of a file or folder. */
    static Path path(String value) {
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

    /** A file whose own name has an equals sign is found first. */
    private static PlottedFile plotted(String value) {
        Path whole = path(value);
        int equals = value.indexOf('=');
        if (equals < 0 || Files.exists(whole)) {
            return new PlottedFile(Optional.empty(), whole);
        }
        if (equals == 0) {
            throw new TypeConversionException("'%s' has no name before '='".formatted(value));
        }
        return new PlottedFile(Optional.of(value.substring(0, equals)), path(value.substring(equals + 1)));
    }

    private static Pattern regex(String value) {
        try {
            return Pattern.compile(value);
        } catch (PatternSyntaxException e) {
            throw new TypeConversionException("'%s' is not a regular expression: %s at character %s".formatted(
                    value, e.getDescription(), Math.max(e.getIndex(), 0) + 1));
        }
    }

    private static AttentionHeads heads(String value) {
        Matcher heads = HEADS.matcher(value);
        if (heads.matches()) {
            long query = Long.parseLong(heads.group(1));
            try {
                return heads.group(2) == null
                        ? new AttentionHeads(query)
                        : new AttentionHeads(query, Long.parseLong(heads.group(2)));
            } catch (CuFileException e) {
                // the message below names what is allowed
            }
        }
        throw new TypeConversionException(
                "'" + value + "' is no number of heads: allowed are QUERY or QUERY,KEY_VALUE, such as 32,8");
    }
}
