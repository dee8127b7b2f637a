package io.gds4j.internal.routing;

import io.gds4j.spi.CuFileBackend;
import java.util.HashMap;
import java.util.Map;

/**
 * Records which of two backends know a registered stream. A stream that the first backend knows is registered with the second
 * one when a file of that backend is first used on it.
 */
final class RoutedStreams {
    private static final Stream UNREGISTERED = new Stream(0, true, false);

    private final Map<Long, Stream> streams = new HashMap<>();

    /** The flags of a registered stream, and which backends know it. */
    record Stream(int flags, boolean atFirst, boolean atSecond) {
    }

    /** Adds a stream that one backend has registered: the first, or else the second. */
    synchronized void add(long stream, int flags, boolean atFirst) {
        streams.put(stream, new Stream(flags, atFirst, !atFirst));
    }

    /** Whether the first backend can serve the stream; it serves unregistered streams, too. */
    synchronized boolean isAtFirst(long stream) {
        return streams.getOrDefault(stream, UNREGISTERED).atFirst();
    }

    /** Registers a registered stream with the second backend, too, unless that knows it already. */
    synchronized void showToSecond(long stream, CuFileBackend second) {
        Stream known = streams.get(stream);
        if (known != null && !known.atSecond()) {
            second.streamRegister(stream, known.flags());
            streams.put(stream, new Stream(known.flags(), true, true));
        }
    }

    synchronized Stream remove(long stream) {
        Stream known = streams.remove(stream);
        return known == null ? UNREGISTERED : known;
    }

    synchronized void clear() {
        streams.clear();
    }
}
