package io.gds4j.tools.terminal;

/** What the process tells its parent; scripts rely on the numbers. */
public enum ExitStatus {
    DONE(0, "done"),
    INTERNAL_ERROR(1, "internal error: a stack trace on standard error, and a request to report it"),
    USAGE(2, "wrong usage: an unknown option or command, or a value that an option does not take"),
    BAD_INPUT(3, "missing or malformed input or configuration: one line says what is wrong and where"),
    IO_FAILURE(4, "I/O, driver or device error; also a GPU target on a machine without that GPU"),
    DIFFERENCE(5, "verification found a difference between the file and what was loaded"),
    LAUNCHER(6, "the launcher found no JDK 25 or newer, or the build failed"),
    SIGINT(130, "interrupted (SIGINT, Ctrl-C); temporary files are removed"),
    SIGTERM(143, "terminated (SIGTERM); temporary files are removed");

    private final int code;
    private final String meaning;

    ExitStatus(int code, String meaning) {
        this.code = code;
        this.meaning = meaning;
    }

    /** The number. */
    public int code() {
        return code;
    }

    /** What it means, in a line. */
    public String meaning() {
        return meaning;
    }
}
