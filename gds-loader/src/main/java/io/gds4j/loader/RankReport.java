package io.gds4j.loader;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What a load brought to one rank.
 *
 * @since 0.1
 */
public final class RankReport {
    private final int rank;
    private final int tensors;
    private final long bytes;

    RankReport(int rank, int tensors, long bytes) {
        this.rank = rank;
        this.tensors = tensors;
        this.bytes = bytes;
    }

    /** {@return the rank} */
    public int rank() {
        return rank;
    }

    /** {@return number of tensors of which the rank keeps a slice} */
    public int tensors() {
        return tensors;
    }

    /** {@return bytes of these slices} */
    public long bytes() {
        return bytes;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof RankReport that && rank == that.rank && tensors == that.tensors && bytes == that.bytes;
    }

    @Override
    public int hashCode() {
        return Objects.hash(rank, tensors, bytes);
    }

    @Override
    public String toString() {
        return "RankReport[rank=" + rank + ", tensors=" + tensors + ", bytes=" + bytes + ']';
    }
}
