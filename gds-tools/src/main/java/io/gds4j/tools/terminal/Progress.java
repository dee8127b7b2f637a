package io.gds4j.tools.terminal;

/** Progress of one task in bytes. Thread-safe. */
public interface Progress extends AutoCloseable {
    /** So many bytes are done altogether. */
    void advanceTo(long bytes);

    /** Ends the line; idempotent. */
    @Override
    void close();

    /** Shows nothing. */
    static Progress none() {
        return Silent.INSTANCE;
    }

    /**
     * A bar on standard error if that is a terminal, else nothing.
     *
     * @param wanted false if the user declined
     * @param task a word or two, such as {@code loading}
     * @param total bytes
     */
    static Progress start(Terminal terminal, boolean wanted, String task, long total) {
        if (!wanted || total <= 0 || !terminal.drawsProgress()) {
            return none();
        }
        return new Bar(terminal, task, total);
    }
}
