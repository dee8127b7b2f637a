package io.gds4j;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.stream.Collectors;

/** The open windows of a buffer. Holds no reference to the buffer, so that the garbage collector finds a forgotten one. */
final class WindowTable {
    /** Number of windows that a message names. */
    private static final int NAMED = 8;

    private final Set<WindowKey> alive = new LinkedHashSet<>();
    private boolean sealed;
    private boolean ended;

    /** Adds a window; false if the buffer is being closed. */
    synchronized boolean add(WindowKey key) {
        return !sealed && !ended && alive.add(key);
    }

    /** Replaces a key by another and kills it; false, without a change, if it is dead. */
    synchronized boolean replace(WindowKey old, WindowKey next) {
        if (ended || !alive.remove(old)) {
            return false;
        }
        old.kill();
        return alive.add(next);
    }

    synchronized void kill(WindowKey key) {
        alive.remove(key);
        key.kill();
    }

    /**
     * Refuses new windows, so that the buffer can be closed.
     *
     * @throws CuFileException IO_NOT_SUPPORTED (EBUSY) while windows are open; nothing changes
     */
    synchronized void seal(String function) {
        if (alive.isEmpty()) {
            sealed = true;
            return;
        }
        String names = alive.stream().limit(NAMED).map(WindowKey::toString).collect(Collectors.joining(", "));
        throw CuFileException.of(CuFileError.IO_NOT_SUPPORTED, Errno.EBUSY, function,
                "the buffer has %s live windows, close them first: %s%s"
                        .formatted(alive.size(), names, alive.size() > NAMED ? ", ..." : ""));
    }

    /** Accepts windows again, because closing the buffer failed. */
    synchronized void unseal() {
        sealed = false;
    }

    /** Kills all windows, because the buffer is closed. */
    synchronized void end() {
        ended = true;
        alive.forEach(WindowKey::kill);
        alive.clear();
    }
}
