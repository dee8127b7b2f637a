package io.gds4j.internal.registration;

import io.gds4j.RegistrationStatistics;

/** Counters of a {@link RegistrationCache}. */
public record CacheStatistics(
        long hits,
        long misses,
        long uncacheable,
        long refused,
        long evictions,
        long staleHits,
        int registrations,
        long bytesPinned) implements RegistrationStatistics {
    /** Of a session without a cache. */
    public static final CacheStatistics NONE = new CacheStatistics(0, 0, 0, 0, 0, 0, 0, 0);
}
