package io.gds4j.tools.terminal;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** A failure that the command itself finds: its exit status, a name for scripts, and a sentence for people. */
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

    /** The command line asks for what does not exist or is not allowed. */
    public static CommandFailure usage(String message) {
        return new CommandFailure(ExitStatus.USAGE, "USAGE", null, message);
    }

    /** Input that is missing or makes no sense. */
    public static CommandFailure badInput(@Nullable String file, String message) {
        return new CommandFailure(ExitStatus.BAD_INPUT, "BAD_INPUT", file, message);
    }

    /** Bytes are not what they should be. */
    public static CommandFailure difference(String file, String message) {
        return new CommandFailure(ExitStatus.DIFFERENCE, "DIFFERENCE", file, message);
    }

    /** The machine lacks what was asked for, or failed. */
    public static CommandFailure device(String name, String message) {
        return new CommandFailure(ExitStatus.IO_FAILURE, name, null, message);
    }

    /** The process's exit status. */
    public ExitStatus status() {
        return status;
    }

    /** A word that scripts can compare. */
    public String name() {
        return name;
    }

    /** The file it is about. */
    public @Nullable String file() {
        return file;
    }
}
