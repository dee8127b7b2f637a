package io.gds4j.statistics;

import java.util.Map;

/**
 * Counters that cuFile's statistics lack: bytes on each path, and the load of the engine. Counted at every level.
 *
 * @param bytesByPath bytes moved so far on each path; paths without bytes are absent
 * @param bouncePoolBytes size of the bounce buffers in use now, bytes
 * @param bouncePoolPeakBytes peak size of the bounce buffers in use, bytes
 * @param queueDepth requests in flight or waiting now: calls, batch entries and stream operations
 * @param retries requests to the kernel that were repeated: interrupted, short, refused as direct I/O, or failed as a direct read
 * @param ioUring {@code off} unless {@code properties.prefer_iouring} is set; then {@code on} if the kernel allows io_uring,
 *        otherwise the reason why threads replace it, such as {@code refused: EPERM}
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
