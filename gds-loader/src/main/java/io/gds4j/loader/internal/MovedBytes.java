package io.gds4j.loader.internal;

import io.gds4j.CuFileDriver;
import io.gds4j.statistics.IoPath;
import java.util.EnumMap;
import java.util.Map;

/** Bytes that a driver has moved since a moment. */
public final class MovedBytes {
    private final CuFileDriver driver;
    private final Map<IoPath, Long> before;

    /** Begins now. */
    public MovedBytes(CuFileDriver driver) {
        this.driver = driver;
        this.before = driver.bytesByPath();
    }

    /** Returns the bytes of each I/O path that served any. */
    public Map<IoPath, Long> byPath() {
        Map<IoPath, Long> paths = new EnumMap<>(IoPath.class);
        driver.bytesByPath().forEach((path, bytes) -> {
            long moved = bytes - before.getOrDefault(path, 0L);
            if (moved > 0) {
                paths.put(path, moved);
            }
        });
        return paths;
    }
}
