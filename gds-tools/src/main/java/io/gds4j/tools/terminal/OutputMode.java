package io.gds4j.tools.terminal;

/**
 * How much a command says.
 *
 * @param json one JSON object on standard output
 * @param quiet nothing but errors and the JSON object
 * @param progress progress may be drawn, where a terminal is
 * @param statistics what the driver has counted, too
 */
public record OutputMode(boolean json, boolean quiet, boolean progress, boolean statistics) {
    /** Without statistics. */
    public OutputMode(boolean json, boolean quiet, boolean progress) {
        this(json, quiet, progress, false);
    }

    /** The same with statistics. */
    public OutputMode counting() {
        return new OutputMode(json, quiet, progress, true);
    }

    /** True if a person wants to read a result on standard output. */
    public boolean table() {
        return !json && !quiet;
    }

    /** A bar, or nothing. */
    public Progress start(Terminal terminal, String task, long total) {
        return Progress.start(terminal, progress && !quiet, task, total);
    }
}
