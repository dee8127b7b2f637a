package io.gds4j.tools.terminal;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** A failure that the command itself detects: exit status, a name for scripts, and a message for people. */
public final class CommandFailure extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final ExitStatus status;
    private final String name;
    private final @Nullable String file;

    private CommandFailure(ExitStatus status, String name, @Nullable String file, String message) {
        super(Objects.requireNonNull(message, "message"));
        this.status = status;
        this.name = name;
        this.file = file;
    }

    /** For a command line with an unknown or disallowed option or value. */
    public static CommandFailure usage(String message) {
        return new CommandFailure(ExitStatus.USAGE, "USAGE", null, message);
    }

    /**
     * Refuses a command line that breaks a rule.
     *
     * @param broken whether it breaks it
     * @param message says what is wrong and what is allowed, with {@code %s} for each value
     */
    public static void usageIf(boolean broken, String message, @Nullable Object... values) {
        if (broken) {
            throw usage(message.formatted(values));
        }
    }

    /** For missing or malformed input. */
    public static CommandFailure badInput(@Nullable String file, String message) {
        return new CommandFailure(ExitStatus.BAD_INPUT, "BAD_INPUT", file, message);
    }

    /** For bytes that differ from the expected ones. */
    public static CommandFailure difference(String file, String message) {
        return new CommandFailure(ExitStatus.DIFFERENCE, "DIFFERENCE", file, message);
    }

    /** For a device or resource that is missing or failed. */
    public static CommandFailure device(String name, String message) {
        return new CommandFailure(ExitStatus.IO_FAILURE, name, null, message);
    }

    /** For a file of which a system call does not return. */
    static CommandFailure noAnswer(String file, String message) {
        return new CommandFailure(ExitStatus.IO_FAILURE, "NO_ANSWER", file, message);
    }

    /** Exit status of the process. */
    public ExitStatus status() {
        return status;
    }

    /** Name of the failure, which scripts can compare. */
    public String name() {
        return name;
    }

    /** The file concerned, or null. */
    public @Nullable String file() {
        return file;
    }
}
