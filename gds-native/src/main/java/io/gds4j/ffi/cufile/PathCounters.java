package io.gds4j.ffi.cufile;

import io.gds4j.statistics.IoPath;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

/** Bytes moved by each path; counting takes no lock. */
final class PathCounters {
    private final LongAdder[] bytes = new LongAdder[IoPath.values().length];

    PathCounters() {
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = new LongAdder();
        }
    }

    void add(IoPath path, long count) {
        bytes[path.ordinal()].add(count);
    }

    Map<IoPath, Long> snapshot() {
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
