package io.gds4j.statistics;

import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Counters that cuFile's statistics lack: bytes on each path, and the load of the engine. Counted at every level.
 *
 * @since 0.1
 */
public final class EngineStatistics {
    private final Map<IoPath, Long> bytesByPath;
    private final long bouncePoolBytes;
    private final long bouncePoolPeakBytes;
    private final long queueDepth;
    private final long retries;
    private final String ioUring;

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
        this.bytesByPath = Map.copyOf(bytesByPath);
        this.bouncePoolBytes = bouncePoolBytes;
        this.bouncePoolPeakBytes = bouncePoolPeakBytes;
        this.queueDepth = queueDepth;
        this.retries = retries;
        this.ioUring = ioUring;
    }

    /** {@return bytes moved so far on each path; paths without bytes are absent} */
    public Map<IoPath, Long> bytesByPath() {
        return bytesByPath;
    }

    /** {@return size of the bounce buffers in use now, bytes} */
    public long bouncePoolBytes() {
        return bouncePoolBytes;
    }

    /** {@return peak size of the bounce buffers in use, bytes} */
    public long bouncePoolPeakBytes() {
        return bouncePoolPeakBytes;
    }

    /** {@return requests in flight or waiting now: calls, batch entries and stream operations} */
    public long queueDepth() {
        return queueDepth;
    }

    /** {@return requests to the kernel that were repeated: interrupted, short, refused as direct I/O, or failed as a direct read} */
    public long retries() {
        return retries;
    }

    /**
     * {@return {@code off} unless {@code properties.prefer_iouring} is set; then {@code on} if the kernel allows io_uring, otherwise
     * the reason why threads replace it, such as {@code refused: EPERM}}
     */
    public String ioUring() {
        return ioUring;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof EngineStatistics that && bouncePoolBytes == that.bouncePoolBytes
                && bouncePoolPeakBytes == that.bouncePoolPeakBytes && queueDepth == that.queueDepth
                && retries == that.retries && bytesByPath.equals(that.bytesByPath) && ioUring.equals(that.ioUring);
    }

    @Override
    public int hashCode() {
        return Objects.hash(bytesByPath, bouncePoolBytes, bouncePoolPeakBytes, queueDepth, retries, ioUring);
    }

    @Override
    public String toString() {
        return "EngineStatistics[bytesByPath=" + bytesByPath + ", bouncePoolBytes=" + bouncePoolBytes
                + ", bouncePoolPeakBytes=" + bouncePoolPeakBytes + ", queueDepth=" + queueDepth + ", retries=" + retries
                + ", ioUring=" + ioUring + ']';
    }
}
