package io.gds4j.statistics;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Counters that cuFile's statistics lack: bytes on each path, and the load of the engine. Counted at every level.
 *
 * @since 0.1
 */
public final class EngineStatistics {
    private final Parts parts;

    /**
     * Copies the map.
     *
     * @param bytesByPath as {@link #bytesByPath}
     * @param bouncePoolBytes as {@link #bouncePoolBytes}
     * @param bouncePoolPeakBytes as {@link #bouncePoolPeakBytes}
     * @param queueDepth as {@link #queueDepth}
     * @param retries as {@link #retries}
     * @param ioUring as {@link #ioUring}
     */
    public EngineStatistics(
            Map<IoPath, Long> bytesByPath,
            long bouncePoolBytes,
            long bouncePoolPeakBytes,
            long queueDepth,
            long retries,
            String ioUring) {
        parts = new Parts(Map.copyOf(bytesByPath), bouncePoolBytes, bouncePoolPeakBytes, queueDepth, retries, ioUring);
    }

    /** {@return bytes moved so far on each path; paths without bytes are absent} */
    public Map<IoPath, Long> bytesByPath() {
        return parts.bytesByPath;
    }

    /** {@return size of the bounce buffers in use now, bytes} */
    public long bouncePoolBytes() {
        return parts.bouncePoolBytes;
    }

    /** {@return peak size of the bounce buffers in use, bytes} */
    public long bouncePoolPeakBytes() {
        return parts.bouncePoolPeakBytes;
    }

    /** {@return requests in flight or waiting now: calls, batch entries and stream operations} */
    public long queueDepth() {
        return parts.queueDepth;
    }

    /** {@return requests to the kernel that were repeated: interrupted, short, refused as direct I/O, or failed as a direct read} */
    public long retries() {
        return parts.retries;
    }

    /**
     * {@return {@code off} unless {@code properties.prefer_iouring} is set; then {@code on} if the kernel allows io_uring, otherwise
     * the reason why threads replace it, such as {@code refused: EPERM}}
     */
    public String ioUring() {
        return parts.ioUring;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof EngineStatistics that && parts.equals(that.parts);
    }

    @Override
    public int hashCode() {
        return parts.hashCode();
    }

    @Override
    public String toString() {
        return parts.toString().replaceFirst("Parts", "EngineStatistics");
    }

    private record Parts(Map<IoPath, Long> bytesByPath, long bouncePoolBytes, long bouncePoolPeakBytes, long queueDepth,
            long retries, String ioUring) {}
}
