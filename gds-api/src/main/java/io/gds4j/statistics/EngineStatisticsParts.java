package io.gds4j.statistics;

import java.util.Map;

/** The parts of a {@link EngineStatistics}. */
record EngineStatisticsParts(Map<IoPath, Long> bytesByPath, long bouncePoolBytes, long bouncePoolPeakBytes,
        long queueDepth, long retries, String ioUring) implements EngineStatistics {
    EngineStatisticsParts {
        bytesByPath = Map.copyOf(bytesByPath);
    }
}
