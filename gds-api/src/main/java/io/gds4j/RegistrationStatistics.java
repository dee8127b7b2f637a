package io.gds4j;

import io.gds4j.internal.registration.CacheStatistics;
import org.jspecify.annotations.Nullable;

/**
 * Counters of a session's registration cache.
 *
 * @since 0.1
 */
public final class RegistrationStatistics {
    static final RegistrationStatistics NONE = new RegistrationStatistics(0, 0, 0, 0, 0, 0, 0, 0);

    private final CacheStatistics parts;

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
        this(new CacheStatistics(hits, misses, uncacheable, refused, evictions, staleHits, registrations, bytesPinned));
    }

    /** {@return requests whose memory was registered} */
    public long hits() {
        return parts.hits();
    }

    /** {@return requests whose memory could be cached but was not registered} */
    public long misses() {
        return parts.misses();
    }

    /**
     * {@return requests on memory that is never cached: host memory, managed memory, and kinds whose allocations the driver cannot
     * tell apart}
     */
    public long uncacheable() {
        return parts.uncacheable();
    }

    /** {@return misses that the cache did not register, for lack of room or because the backend refused} */
    public long refused() {
        return parts.refused();
    }

    /** {@return registrations removed to make room, the least recently used first} */
    public long evictions() {
        return parts.evictions();
    }

    /** {@return registrations whose memory had been freed} */
    public long staleHits() {
        return parts.staleHits();
    }

    /** {@return current number of registrations} */
    public int registrations() {
        return parts.registrations();
    }

    /** {@return bytes that they pin, in whole pages} */
    public long bytesPinned() {
        return parts.bytesPinned();
    }

    RegistrationStatistics(CacheStatistics counted) {
        parts = counted;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof RegistrationStatistics that && parts.equals(that.parts);
    }

    @Override
    public int hashCode() {
        return parts.hashCode();
    }

    @Override
    public String toString() {
        return parts.toString().replaceFirst("CacheStatistics", "RegistrationStatistics");
    }
}
