package io.gds4j.statistics;

import java.util.Map;

/**
 * What cuFile's statistics leave out: the ways that bytes took, and how busy the engine is. Always counted, whatever the level.
 *
 * @param bytesByPath bytes moved so far by each path; paths without bytes are absent
 * @param bouncePoolBytes bounce buffers in use now, bytes
 * @param bouncePoolPeakBytes most of them in use at one time so far, bytes
 * @param queueDepth requests in flight or waiting now: calls, batch entries and stream operations
 * @param retries requests to the kernel that had to be repeated: interrupted, short, or refused as direct I/O
 * @param ioUring {@code on} where {@code properties.prefer_iouring} asks for io_uring and the kernel allows it, {@code off} where
 *        nobody asks, else why threads serve instead, for example {@code refused: EPERM}
 * @since 0.1
 */
public record EngineStatistics(
        Map<IoPath, Long> bytesByPath,
        long bouncePoolBytes,
        long bouncePoolPeakBytes,
        long queueDepth,
        long retries,
        String ioUring) {
    /** Copies the map. */
    public EngineStatistics {
        bytesByPath = Map.copyOf(bytesByPath);
    }
}
