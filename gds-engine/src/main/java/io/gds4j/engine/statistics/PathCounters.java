package io.gds4j.engine.statistics;

import io.gds4j.statistics.IoPath;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

/** Counts the bytes moved by each path since the backend was made, at every level of statistics. Lock-free. */
public final class PathCounters {
    private final LongAdder[] bytes = new LongAdder[IoPath.values().length];
    private final LongAdder written = new LongAdder();
    private final LongAdder retries = new LongAdder();

    /** All counts are 0. */
    public PathCounters() {
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = new LongAdder();
        }
    }

    /** Returns the counter of a path's bytes, for callers that always count the same path. */
    public LongAdder of(IoPath path) {
        return bytes[path.ordinal()];
    }

    /** Adds bytes to a path. */
    public void add(IoPath path, long count) {
        bytes[path.ordinal()].add(count);
    }

    /** Returns the counter of the bytes that were written, on any path. */
    public LongAdder written() {
        return written;
    }

    /** Counts a request to the kernel that has to be repeated. */
    public void retry() {
        retries.increment();
    }

    /** Returns the number of repeated requests. */
    public long retries() {
        return retries.sum();
    }

    /** Returns the bytes of all paths. */
    public long total() {
        long total = 0;
        for (LongAdder each : bytes) {
            total += each.sum();
        }
        return total;
    }

    /** Returns the bytes by path, without paths that moved none. */
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
