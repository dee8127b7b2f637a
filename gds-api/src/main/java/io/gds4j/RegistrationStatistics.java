package io.gds4j;

import io.gds4j.internal.registration.CacheStatistics;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Counters of a session's registration cache.
 *
 * @since 0.1
 */
public final class RegistrationStatistics {
    static final RegistrationStatistics NONE = new RegistrationStatistics(0, 0, 0, 0, 0, 0, 0, 0);

    private final long hits;
    private final long misses;
    private final long uncacheable;
    private final long refused;
    private final long evictions;
    private final long staleHits;
    private final int registrations;
    private final long bytesPinned;

    /**
     * Sets the parts.
     *
     * @param hits as {@link #hits}
     * @param misses as {@link #misses}
     * @param uncacheable as {@link #uncacheable}
     * @param refused as {@link #refused}
     * @param evictions as {@link #evictions}
     * @param staleHits as {@link #staleHits}
     * @param registrations as {@link #registrations}
     * @param bytesPinned as {@link #bytesPinned}
     */
    public RegistrationStatistics(
            long hits,
            long misses,
            long uncacheable,
            long refused,
            long evictions,
            long staleHits,
            int registrations,
            long bytesPinned) {
        this.hits = hits;
        this.misses = misses;
        this.uncacheable = uncacheable;
        this.refused = refused;
        this.evictions = evictions;
        this.staleHits = staleHits;
        this.registrations = registrations;
        this.bytesPinned = bytesPinned;
    }

    /** {@return requests whose memory was registered} */
    public long hits() {
        return hits;
    }

    /** {@return requests whose memory could be cached but was not registered} */
    public long misses() {
        return misses;
    }

    /**
     * {@return requests on memory that is never cached: host memory, managed memory, and kinds whose allocations the driver cannot
     * tell apart}
     */
    public long uncacheable() {
        return uncacheable;
    }

    /** {@return misses that the cache did not register, for lack of room or because the backend refused} */
    public long refused() {
        return refused;
    }

    /** {@return registrations removed to make room, the least recently used first} */
    public long evictions() {
        return evictions;
    }

    /** {@return registrations whose memory had been freed} */
    public long staleHits() {
        return staleHits;
    }

    /** {@return current number of registrations} */
    public int registrations() {
        return registrations;
    }

    /** {@return bytes that they pin, in whole pages} */
    public long bytesPinned() {
        return bytesPinned;
    }

    static RegistrationStatistics of(CacheStatistics counted) {
        return new RegistrationStatistics(
                counted.hits(),
                counted.misses(),
                counted.uncacheable(),
                counted.refused(),
                counted.evictions(),
                counted.staleHits(),
                counted.registrations(),
                counted.bytesPinned());
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof RegistrationStatistics that && hits == that.hits && misses == that.misses
                && uncacheable == that.uncacheable && refused == that.refused && evictions == that.evictions
                && staleHits == that.staleHits && registrations == that.registrations
                && bytesPinned == that.bytesPinned;
    }

    @Override
    public int hashCode() {
        return Objects.hash(hits, misses, uncacheable, refused, evictions, staleHits, registrations, bytesPinned);
    }

    @Override
    public String toString() {
        return "RegistrationStatistics[hits=" + hits + ", misses=" + misses + ", uncacheable=" + uncacheable
                + ", refused=" + refused + ", evictions=" + evictions + ", staleHits=" + staleHits + ", registrations="
                + registrations + ", bytesPinned=" + bytesPinned + ']';
    }
}
