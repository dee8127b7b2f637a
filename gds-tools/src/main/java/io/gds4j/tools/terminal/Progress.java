package io.gds4j.tools.terminal;

import java.util.Map;

/** Progress of one task in bytes. Thread-safe. */
public interface Progress extends AutoCloseable {
    /** Sets the total number of bytes done so far. */
    void advanceTo(long bytes);

    /** Sets the total number of bytes done so far; the bytes since the last call are of this file. */
    default void advanceTo(long bytes, String file) {
        advanceTo(bytes);
    }

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

    /**
     * Returns a line for each file in work on a terminal, else what {@link #start} returns. Lines need escape sequences, which
     * NO_COLOR excludes.
     *
     * @param files bytes of each file, by name
     */
    static Progress ofFiles(Terminal terminal, boolean wanted, String task, Map<String, Long> files) {
        boolean lines = files.size() > 1 && terminal.environment().getOrDefault("NO_COLOR", "").isEmpty();
        if (wanted && lines && terminal.drawsProgress()) {
            return new FileBars(terminal, task, files);
        }
        return start(terminal, wanted, task, files.values().stream().mapToLong(Long::longValue).sum());
    }
}
