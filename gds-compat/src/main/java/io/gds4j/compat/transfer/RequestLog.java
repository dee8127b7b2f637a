package io.gds4j.compat.transfer;

import io.gds4j.error.CuFileException;
import java.lang.System.Logger.Level;
import org.jspecify.annotations.Nullable;

/** Takes the lines that requests, batches and streams log. The log of a session implements it. */
public interface RequestLog {
    /** cuFile's levels, least important first: a level lets through itself and all after it. */
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

        /** The level of the Java logger. */
        public Level level() {
            return level;
        }
    }

    /** True if {@link #log} writes lines of this severity; asked first where building the arguments costs time. */
    boolean isOn(Severity severity);

    /** Logs a line; {@code arguments} as of {@link String#formatted}. */
    void log(Severity severity, String format, @Nullable Object... arguments);

    /** A call failed, and its exception says so to the caller. */
    void failed(CuFileException failure);

    /** A failure of our own, of which the program only gets a code. */
    void error(String message, Throwable cause);
}
