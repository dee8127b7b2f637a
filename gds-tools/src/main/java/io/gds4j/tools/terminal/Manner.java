package io.gds4j.tools.terminal;

/**
 * How much a command says.
 *
 * @param json one JSON object on standard output
 * @param quiet nothing but errors and the JSON object
 * @param progress progress may be drawn, where a terminal is
 */
public record Manner(boolean json, boolean quiet, boolean progress) {
    /** True if a person wants to read a result on standard output. */
    public boolean table() {
        return !json && !quiet;
    }

    /** A bar, or nothing. */
    public Progress start(Terminal terminal, String task, long total) {
        return Progress.start(terminal, progress && !quiet, task, total);
    }
}
