package io.gds4j.config;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.internal.text.InertText;
import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Thrown for an invalid configuration. {@link #detail()} and {@link #getMessage()} are one line with place, key, value and
 * allowed values:
 *
 * <pre>{@code
 * /etc/cufile.json:12:25: properties.io_batchsize is 999999, allowed: an integer, 1 to 256
 * CUFILE_NVTX is "maybe", allowed: true, false, 1 or 0 (profile.nvtx)
 * }</pre>
 *
 * <p>
 * The error is {@link CuFileError#INVALID_VALUE} for a value of the program and {@link CuFileError#DRIVER_INVALID_PROPS} for
 * environment and file. The errno is EINVAL, as in libcufile, or the reason why the file cannot be read.
 *
 * @since 0.1
 */
public final class CuFileConfigException extends CuFileException {
    private static final long serialVersionUID = 1L;

    /** Number of characters of a value that a message shows. */
    private static final int MAX_VALUE = 120;

    /** The key, or null. */
    private final @Nullable String key;
    /** The JSON file, or null. */
    private final transient @Nullable Path file;
    /** Line in the file, or 0. */
    private final int line;
    /** Column in the line, or 0. */
    private final int column;

    private CuFileConfigException(
            CuFileError error,
            int errno,
            @Nullable String key,
            @Nullable Path file,
            int line,
            int column,
            String detail,
            @Nullable Throwable cause) {
        super(describe(error, errno, detail, cause));
        this.key = key;
        this.file = file;
        this.line = line;
        this.column = column;
    }

    private static Builder describe(CuFileError error, int errno, String detail, @Nullable Throwable cause) {
        Builder builder = CuFileException.builder("cuFileDriverOpen").error(error).errno(errno).detail(detail);
        return cause == null ? builder : builder.cause(cause);
    }

    /** Reports a value of the program. */
    static CuFileConfigException ofApi(ConfigKey<?> key, Object value) {
        return new CuFileConfigException(
                CuFileError.INVALID_VALUE, Errno.EINVAL, key.name(), null, 0, 0, sentence(key, show(value)), null);
    }

    /** Reports an environment variable. */
    static CuFileConfigException ofVariable(String variable, ConfigKey<?> key, String text, String allowed) {
        String where = key.name().equals(variable) ? "" : " (" + key.name() + ")";
        return new CuFileConfigException(
                CuFileError.DRIVER_INVALID_PROPS,
                Errno.EINVAL,
                key.name(),
                null,
                0,
                0,
                "%s is %s, allowed: %s%s".formatted(variable, show(text), allowed, where),
                null);
    }

    /** Reports a variable that does not contain the path of a file. */
    static CuFileConfigException badPath(String variable, String text, Throwable cause) {
        return new CuFileConfigException(
                CuFileError.DRIVER_INVALID_PROPS,
                Errno.EINVAL,
                null,
                null,
                0,
                0,
                "%s is %s, allowed: the path of a JSON file".formatted(variable, show(text)),
                cause);
    }

    /** Reports a value in a file. */
    static CuFileConfigException ofFile(ConfigKey<?> key, String value, Path file, int line, int column) {
        return at(file, line, column, key.name(), sentence(key, value), null);
    }

    /** Reports any other error in a file. */
    static CuFileConfigException at(
            Path file, int line, int column, @Nullable String key, String what, @Nullable Throwable cause) {
        return new CuFileConfigException(
                CuFileError.DRIVER_INVALID_PROPS,
                Errno.EINVAL,
                key,
                file,
                line,
                column,
                "%s:%s:%s: %s".formatted(InertText.name(file.toString()), line, column, what),
                cause);
    }

    /** Reports a file that cannot be read. */
    static CuFileConfigException unreadable(Path file, int errno, String what, @Nullable Throwable cause) {
        return new CuFileConfigException(
                CuFileError.DRIVER_INVALID_PROPS, errno, null, file, 0, 0,
                InertText.name(file.toString()) + ": " + what, cause);
    }

    /** Reports values that conflict; {@code blamed} is the one with the strongest source. */
    static CuFileConfigException conflict(ConfigValue<?> blamed, String what) {
        String where = blamed.source() == ConfigSource.FILE ? blamed.origin() + ": " : "";
        return new CuFileConfigException(
                blamed.source() == ConfigSource.API ? CuFileError.INVALID_VALUE : CuFileError.DRIVER_INVALID_PROPS,
                Errno.EINVAL,
                blamed.key().name(),
                blamed.file().orElse(null),
                blamed.line(),
                0,
                where + what,
                null);
    }

    private static String sentence(ConfigKey<?> key, String value) {
        return "%s is %s, allowed: %s".formatted(key.name(), value, key.allowed());
    }

    /** Formats a value for a message: texts in quotes, long values cut. */
    static String show(Object value) {
        String text = value instanceof String string ? '"' + string + '"' : value.toString();
        return text.length() <= MAX_VALUE ? text : text.substring(0, MAX_VALUE) + "..";
    }

    /** {@return name of the key; empty if the error concerns none} */
    public Optional<String> key() {
        return Optional.ofNullable(key);
    }

    /** {@return the JSON file; empty if the error is elsewhere} */
    @Override
    public Optional<Path> path() {
        return Optional.ofNullable(file);
    }

    /** {@return line in the file, counted from 1; 0 if unknown} */
    public int line() {
        return line;
    }

    /** {@return column in the line, counted from 1; 0 if unknown} */
    public int column() {
        return column;
    }
}
