package io.gds4j.compat;

import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.error.CuFileException;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * What a session tells: {@code logging.level} says what, as in cuFile. It goes to the logger {@code io.gds4j.compat}, and to
 * {@code cufile.log} if somebody chose {@code logging.dir} or {@code CUFILE_LOGFILE_PATH}.
 *
 * <p>
 * A line below the level costs a comparison; the program's logging is not even initialised for it. cuFile's INFO is the
 * logger's DEBUG, because what programs print by default begins at INFO, and a library is quiet. What a caller learns from an
 * exception is an ERROR in the file and DEBUG for the logger.
 */
final class SessionLog implements RequestLog, AutoCloseable {
    static final String NAME = "io.gds4j.compat";

    private static final String FILE_NAME = "cufile.log";
    private static final long MIB = 1 << 20;
    private static final StackWalker WALKER = StackWalker.getInstance();

    private final Severity level;
    private final @Nullable LogFile file;

    private SessionLog(Severity level, @Nullable LogFile file) {
        this.level = level;
        this.file = file;
    }

    /** A log file that cannot be opened is a warning, not a failure. */
    static SessionLog open(CuFileConfig config) {
        Severity level = Severity.valueOf(config.get(CuFileKeys.LOGGING_LEVEL).toUpperCase(Locale.ROOT));
        String named = config.get(CuFileKeys.LOGFILE_PATH);
        String folder = config.get(CuFileKeys.LOGGING_DIR);
        if (named.isEmpty() && folder.isEmpty()) {
            return new SessionLog(level, null);
        }
        Path path = named.isEmpty() ? Path.of(folder, FILE_NAME) : Path.of(named);
        long most = config.get(CuFileKeys.LOGGING_MAX_FILE_SIZE_MB);
        try {
            return new SessionLog(level, new LogFile(path, most < 0 ? -1 : most * MIB));
        } catch (IOException e) {
            warnAlone("no log file: " + e.getMessage());
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
            System.getLogger(NAME).log(severity.level(), message);
            write(severity, message);
        }
    }

    private void write(Severity severity, String message) {
        if (file != null && isOn(severity)) {
            file.write(severity.name(), place(), message);
        }
    }

    /** What does not go as it should and yet goes on: the logger always hears of it. */
    void warn(String message) {
        warnAlone(message);
        write(Severity.WARN, message);
    }

    static void warnAlone(String message) {
        System.getLogger(NAME).log(Level.WARNING, message);
    }

    @Override
    public void error(String message, Throwable cause) {
        System.getLogger(NAME).log(Level.ERROR, message, cause);
        write(Severity.ERROR, message + ": " + cause);
    }

    @Override
    public void failed(CuFileException failure) {
        if (isOn(Severity.DEBUG)) {
            System.getLogger(NAME).log(Level.DEBUG, failure.getMessage());
        }
        write(Severity.ERROR, String.valueOf(failure.getMessage()));
    }

    /** Class and line that log, where libcufile names its module and line. */
    private static String place() {
        return WALKER.walk(frames -> frames
                .filter(frame -> !frame.getClassName().equals(SessionLog.class.getName()))
                .findFirst()
                .map(frame -> "gds4j-%s:%d".formatted(
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
