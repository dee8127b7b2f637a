package io.gds4j.compat.file;

import io.gds4j.error.CuFileException;
import java.lang.System.Logger.Level;
import org.jspecify.annotations.Nullable;

/** The log that requests, batches and streams write to. */
public interface RequestLog {
    /** cuFile's levels, least important first. A log that is set to a level writes that level and all after it. */
    enum Severity {
        TRACE(Level.TRACE),
        DEBUG(Level.DEBUG),
        INFO(Level.DEBUG),
        WARN(Level.WARNING),
        ERROR(Level.ERROR),
        NOTICE(Level.INFO);

        private final Level level;

        Severity(Level level) {
            this.level = level;
        }

        /** Returns the level for the Java logger. */
        public Level level() {
            return level;
        }
    }

    /** Returns whether {@link #log} writes lines of this severity. Callers ask first if their arguments cost time. */
    boolean isOn(Severity severity);

    /** Logs a line that {@link String#formatted} makes of the arguments. */
    void log(Severity severity, String format, @Nullable Object... arguments);

    /** Logs a failure that the caller gets as an exception. */
    void failed(CuFileException failure);

    /** Logs a defect of gds4j, of which the program only gets a code. */
    void error(String message, Throwable cause);
}
