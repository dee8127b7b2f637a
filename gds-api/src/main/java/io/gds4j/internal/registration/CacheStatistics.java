package io.gds4j.internal.registration;

/**
 * Counters of a {@link RegistrationCache}; {@code io.gds4j.RegistrationStatistics} says what each one counts.
 */
public record CacheStatistics(
        long hits,
        long misses,
        long uncacheable,
        long refused,
        long evictions,
        long staleHits,
        int registrations,
        long bytesPinned) {
}
