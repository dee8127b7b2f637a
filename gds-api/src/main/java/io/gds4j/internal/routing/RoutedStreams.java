package io.gds4j.internal.routing;

import io.gds4j.spi.CuFileBackend;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Which of two backends know a registered stream: the first one, or the second one alone, or both from the moment on at which
 * a file of the second one is first used on it.
 */
final class RoutedStreams {
    private final Map<Long, Stream> streams = new HashMap<>();

    /** One of them. */
    static final class Stream {
        private final int flags;
        private final boolean forSecondAlone;
        private boolean atSecond;

        private Stream(int flags, boolean forSecondAlone) {
            this.flags = flags;
            this.forSecondAlone = forSecondAlone;
            this.atSecond = forSecondAlone;
        }

        boolean forSecondAlone() {
            return forSecondAlone;
        }

        boolean isAtSecond() {
            return atSecond;
        }
    }

    synchronized void add(long stream, int flags, boolean forSecondAlone) {
        streams.put(stream, new Stream(flags, forSecondAlone));
    }

    synchronized boolean isForSecondAlone(long stream) {
        Stream known = streams.get(stream);
        return known != null && known.forSecondAlone;
    }

    /** Registers it with the second backend, too, if it is registered and the second one has not heard of it. */
    synchronized void showToSecond(long stream, CuFileBackend second) {
        Stream known = streams.get(stream);
        if (known != null && !known.atSecond) {
            second.streamRegister(stream, known.flags);
            known.atSecond = true;
        }
    }

    synchronized @Nullable Stream remove(long stream) {
        return streams.remove(stream);
    }

    synchronized void clear() {
        streams.clear();
    }
}
