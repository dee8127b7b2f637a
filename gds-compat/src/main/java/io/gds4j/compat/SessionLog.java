package io.gds4j.compat;

import io.gds4j.compat.file.RequestLog;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.text.InertText;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The log of a driver session. Lines of {@code logging.level} or above go to the logger {@code io.gds4j.compat}, and to
 * {@code cufile.log} if {@code logging.dir} or {@code CUFILE_LOGFILE_PATH} is set. Thread-safe.
 *
 * <p>
 * A line below the level costs a comparison and does not initialise the program's logging. cuFile's INFO is the logger's DEBUG:
 * programs print INFO by default, and a library should be quiet. A failure that an exception reports is an ERROR in the file and
 * DEBUG for the logger.
 */
final class SessionLog implements RequestLog, AutoCloseable {
    static final String NAME = LogFile.LOGGER;

    private static final String FILE_NAME = "cufile.log";
    private static final long MIB = 1 << 20;
    private static final StackWalker WALKER = StackWalker.getInstance();

    private final Severity level;
    private final @Nullable LogFile file;

    private SessionLog(Severity level, @Nullable LogFile file) {
        this.level = level;
        this.file = file;
    }

    /** Opens the log as configured. A log file that cannot be opened is a warning, not a failure. */
    static SessionLog open(CuFileConfig config) {
        Severity level = Severity.valueOf(config.get(CuFileKeys.LOGGING_LEVEL).toUpperCase(Locale.ROOT));
        String named = config.get(CuFileKeys.LOGFILE_PATH);
        String folder = config.get(CuFileKeys.LOGGING_DIR);
        if (named.isEmpty() && folder.isEmpty()) {
            return new SessionLog(level, null);
        }
        long most = config.get(CuFileKeys.LOGGING_MAX_FILE_SIZE_MB);
        try {
            Path path = named.isEmpty() ? Path.of(folder, FILE_NAME) : Path.of(named);
            return new SessionLog(level, new LogFile(path, most < 0 ? -1 : most * MIB));
        } catch (IOException | InvalidPathException e) {
            // A path is invalid if the locale has no bytes for one of its characters.
            LogFile.warnAlone("no log file: " + e.getMessage());
            return new SessionLog(level, null);
        }
    }

    @Override
    public boolean isOn(Severity severity) {
        return severity.compareTo(level) >= 0;
    }

    @Override
    public void log(Severity severity, String format, @Nullable Object... arguments) {
        if (isOn(severity)) {
            String message = format.formatted(arguments);
            System.getLogger(NAME).log(severity.level(), InertText.line(message));
            write(severity, message);
        }
    }

    private void write(Severity severity, String message) {
        if (file != null && isOn(severity)) {
            file.write(severity.name(), place(), message);
        }
    }

    /** Logs a problem that does not stop the work, to the logger at any level. */
    void warn(String message) {
        LogFile.warnAlone(message);
        write(Severity.WARN, message);
    }

    @Override
    public void error(String message, Throwable cause) {
        System.getLogger(NAME).log(Level.ERROR, InertText.line(message), cause);
        write(Severity.ERROR, message + ": " + cause);
    }

    @Override
    public void failed(CuFileException failure) {
        if (isOn(Severity.DEBUG)) {
            System.getLogger(NAME).log(Level.DEBUG, failure.getMessage());
        }
        write(Severity.ERROR, String.valueOf(failure.getMessage()));
    }

    /** Returns class and line of the caller, in place of libcufile's module and line. */
    private static String place() {
        return WALKER.walk(frames -> frames
                .filter(frame -> !frame.getClassName().equals(SessionLog.class.getName()))
                .findFirst()
                .map(frame -> "gds4j-%s:%s".formatted(
                        frame.getClassName().substring(frame.getClassName().lastIndexOf('.') + 1),
                        frame.getLineNumber()))
                .orElse("gds4j:0"));
    }

    @Override
    public void close() {
        if (file != null) {
            file.close();
        }
    }
}
