package io.gds4j.tools.terminal;

/** Progress of one task in bytes. Thread-safe. */
public interface Progress extends AutoCloseable {
    /** Sets the total number of bytes done so far. */
    void advanceTo(long bytes);

    /** Ends the progress display. Idempotent. */
    @Override
    void close();

    /** Returns a progress that shows nothing. */
    static Progress none() {
        return Silent.INSTANCE;
    }

    /**
     * Returns a bar on standard error if that is a terminal, else a progress that shows nothing.
     *
     * @param wanted false if the user disabled progress
     * @param task label of one or two words, such as {@code loading}
     * @param total bytes in all
     */
    static Progress start(Terminal terminal, boolean wanted, String task, long total) {
        if (!wanted || total <= 0 || !terminal.drawsProgress()) {
            return none();
        }
        return new Bar(terminal, task, total);
    }
}
