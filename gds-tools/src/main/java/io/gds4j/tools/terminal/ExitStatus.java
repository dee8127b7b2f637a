package io.gds4j.tools.terminal;

/** Exit statuses of the process. Scripts rely on the numbers. */
public enum ExitStatus {
    DONE(0, "done"),
    INTERNAL_ERROR(1, "internal error: a stack trace on standard error, and a request to report it"),
    USAGE(2, "wrong usage: an unknown command or option, or a value that an option does not accept"),
    BAD_INPUT(3, "missing or malformed input or configuration: one line says what is wrong and where"),
    IO_FAILURE(4, "I/O, driver or device error; also a GPU target that this machine does not have"),
    DIFFERENCE(5, "verification found a difference between the file and the loaded data"),
    LAUNCHER(6, "the launcher found no JDK 25 or newer, or could not build gds4j"),
    SIGINT(130, "interrupted (SIGINT, Ctrl-C); temporary files are removed"),
    SIGTERM(143, "terminated (SIGTERM); temporary files are removed");

    private final int code;
    private final String meaning;

    ExitStatus(int code, String meaning) {
        this.code = code;
        this.meaning = meaning;
    }

    /** Number of the status. */
    public int code() {
        return code;
    }

    /** Meaning of the status, in one line. */
    public String meaning() {
        return meaning;
    }
}
