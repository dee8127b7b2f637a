package io.gds4j;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.stream.Collectors;

/** The live windows of one buffer. Refers to no buffer, so that a forgotten one can be found. */
final class WindowTable {
    /** So many are named in a refusal. */
    private static final int NAMED = 8;

    private final Set<WindowKey> alive = new LinkedHashSet<>();
    private boolean sealed;
    private boolean ended;

    /** False if the buffer is being closed. */
    synchronized boolean add(WindowKey key) {
        return !sealed && !ended && alive.add(key);
    }

    /** Kills one key and lets another take its place; false, and nothing has changed, if it is dead. */
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
     * Lets no new window in, so that the buffer can be closed.
     *
     * @throws CuFileException IO_NOT_SUPPORTED (EBUSY), and nothing has changed, while there are windows
     */
    synchronized void seal(String function) {
        if (alive.isEmpty()) {
            sealed = true;
            return;
        }
        String names = alive.stream().limit(NAMED).map(WindowKey::toString).collect(Collectors.joining(", "));
        throw CuFileException.builder(function)
                .error(CuFileError.IO_NOT_SUPPORTED)
                .errno(Errno.EBUSY)
                .detail("the buffer has %d live windows, close them first: %s%s"
                        .formatted(alive.size(), names, alive.size() > NAMED ? ", ..." : ""))
                .build();
    }

    /** It could not be closed after all. */
    synchronized void unseal() {
        sealed = false;
    }

    /** The buffer is gone. */
    synchronized void end() {
        ended = true;
        alive.forEach(WindowKey::kill);
        alive.clear();
    }
}
