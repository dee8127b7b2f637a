package io.gds4j.spi;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The end of one entry of a batch ({@code CUfileIOEvents_t}).
 *
 * @since 0.1
 */
public final class BatchEvent {
    private final long cookie;
    private final BatchStatus status;
    private final long result;

    /**
     * Sets the parts.
     *
     * @param cookie as {@link #cookie}
     * @param status as {@link #status}
     * @param result as {@link #result}
     */
    public BatchEvent(long cookie, BatchStatus status, long result) {
        this.cookie = cookie;
        this.status = status;
        this.result = result;
    }

    /** {@return the cookie of the entry's request} */
    public long cookie() {
        return cookie;
    }

    /** {@return how it ended} */
    public BatchStatus status() {
        return status;
    }

    /** {@return bytes moved, or a negative errno or a negative cuFile code} */
    public long result() {
        return result;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof BatchEvent that && cookie == that.cookie && result == that.result
                && status.equals(that.status);
    }

    @Override
    public int hashCode() {
        return Objects.hash(cookie, status, result);
    }

    @Override
    public String toString() {
        return "BatchEvent[cookie=" + cookie + ", status=" + status + ", result=" + result + ']';
    }
}
