package io.gds4j.statistics;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The path that a file's I/O takes, and the reason.
 *
 * @since 0.1
 */
public final class IoPathReport {
    private final IoPath path;
    private final String reason;

    /**
     * Sets the parts.
     *
     * @param path as {@link #path}
     * @param reason as {@link #reason}
     */
    public IoPathReport(IoPath path, String reason) {
        this.path = path;
        this.reason = reason;
    }

    /** {@return the path of an aligned request on this file now} */
    public IoPath path() {
        return path;
    }

    /** {@return a clause for users, such as {@code "tmpfs keeps its pages in memory"}} */
    public String reason() {
        return reason;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof IoPathReport that && path.equals(that.path) && reason.equals(that.reason);
    }

    @Override
    public int hashCode() {
        return Objects.hash(path, reason);
    }

    @Override
    public String toString() {
        return "IoPathReport[path=" + path + ", reason=" + reason + ']';
    }
}
