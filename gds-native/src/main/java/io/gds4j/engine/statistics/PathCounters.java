package io.gds4j.engine.statistics;

import io.gds4j.statistics.IoPath;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

/** Bytes moved by each path since the backend was made, whatever the level of statistics; lock-free. */
public final class PathCounters {
    private final LongAdder[] bytes = new LongAdder[IoPath.values().length];
    private final LongAdder retries = new LongAdder();

    /** Nothing so far. */
    public PathCounters() {
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = new LongAdder();
        }
    }

    /** What counts a path's bytes, for whoever always counts the same. */
    public LongAdder of(IoPath path) {
        return bytes[path.ordinal()];
    }

    /** So many more. */
    public void add(IoPath path, long count) {
        bytes[path.ordinal()].add(count);
    }

    /** A request to the kernel has to be repeated. */
    public void retry() {
        retries.increment();
    }

    /** How many had to be. */
    public long retries() {
        return retries.sum();
    }

    /** Paths without bytes are absent. */
    public Map<IoPath, Long> snapshot() {
        Map<IoPath, Long> moved = new EnumMap<>(IoPath.class);
        for (IoPath path : IoPath.values()) {
            long count = bytes[path.ordinal()].sum();
            if (count > 0) {
                moved.put(path, count);
            }
        }
        return moved;
    }
}
