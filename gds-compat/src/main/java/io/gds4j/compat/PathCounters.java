package io.gds4j.compat;

import io.gds4j.statistics.IoPath;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

/** Bytes moved by each path since the session began. */
final class PathCounters {
    private final Map<IoPath, LongAdder> bytes = new EnumMap<>(IoPath.class);
    private final LongAdder retries = new LongAdder();

    PathCounters() {
        for (IoPath path : new IoPath[]{IoPath.COMPAT_DIRECT, IoPath.COMPAT_BUFFERED, IoPath.COMPAT_CACHED}) {
            bytes.put(path, new LongAdder());
        }
    }

    void add(IoPath path, long count) {
        LongAdder adder = bytes.get(path);
        if (adder != null) {
            adder.add(count);
        }
    }

    /** A request to the kernel has to be repeated. */
    void retry() {
        retries.increment();
    }

    long retries() {
        return retries.sum();
    }

    Map<IoPath, Long> snapshot() {
        Map<IoPath, Long> copy = new EnumMap<>(IoPath.class);
        bytes.forEach((path, adder) -> {
            if (adder.sum() > 0) {
                copy.put(path, adder.sum());
            }
        });
        return copy;
    }
}
