package io.gds4j.tools.terminal;

/**
 * What a command prints.
 *
 * @param json whether to print one JSON object on standard output
 * @param quiet whether to print only errors and the JSON object
 * @param progress whether to draw progress on a terminal
 * @param statistics whether to collect and print statistics
 */
public record OutputMode(boolean json, boolean quiet, boolean progress, boolean statistics) {
    /** A mode without statistics. */
    public OutputMode(boolean json, boolean quiet, boolean progress) {
        this(json, quiet, progress, false);
    }

    /** Returns this mode with statistics. */
    public OutputMode counting() {
        return new OutputMode(json, quiet, progress, true);
    }

    /** True if the command prints its result as text. */
    public boolean table() {
        return !json && !quiet;
    }

    /** Starts a progress bar if this mode and the terminal allow it. */
    public Progress start(Terminal terminal, String task, long total) {
        return Progress.start(terminal, progress && !quiet, task, total);
    }
}
