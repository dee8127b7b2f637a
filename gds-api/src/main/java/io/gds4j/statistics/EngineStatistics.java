package io.gds4j.statistics;

import java.util.Map;

/**
 * Counters that cuFile's statistics lack: bytes on each path, and the load of the engine. Counted at every level.
 *
 * @since 0.1
 */
public sealed interface EngineStatistics permits EngineStatisticsParts {
    /** {@return bytes moved so far on each path; paths without bytes are absent} */
    Map<IoPath, Long> bytesByPath();

    /** {@return size of the bounce buffers in use now, bytes} */
    long bouncePoolBytes();

    /** {@return peak size of the bounce buffers in use, bytes} */
    long bouncePoolPeakBytes();

    /** {@return requests in flight or waiting now: calls, batch entries and stream operations} */
    long queueDepth();

    /** {@return requests to the kernel that were repeated: interrupted, short, refused as direct I/O, or failed as a direct read} */
    long retries();

    /**
     * {@return {@code off} unless {@code properties.prefer_iouring} is set; then {@code on} if the kernel allows io_uring, otherwise
     * the reason why threads replace it, such as {@code refused: EPERM}}
     */
    String ioUring();

    /**
     * Copies the map.
     *
     * @param bytesByPath as {@link #bytesByPath}
     * @param bouncePoolBytes as {@link #bouncePoolBytes}
     * @param bouncePoolPeakBytes as {@link #bouncePoolPeakBytes}
     * @param queueDepth as {@link #queueDepth}
     * @param retries as {@link #retries}
     * @param ioUring as {@link #ioUring}
     * @return the value
     */
    static EngineStatistics of(Map<IoPath, Long> bytesByPath, long bouncePoolBytes, long bouncePoolPeakBytes,
            long queueDepth, long retries, String ioUring) {
        return new EngineStatisticsParts(bytesByPath, bouncePoolBytes, bouncePoolPeakBytes, queueDepth, retries,
                ioUring);
    }
}
