package io.gds4j;

import io.gds4j.internal.registration.CacheStatistics;

/**
 * Counters of a session's registration cache.
 *
 * @param hits requests whose memory was registered
 * @param misses requests whose memory could be cached but was not registered
 * @param uncacheable requests on memory that is never cached: host memory, managed memory, and kinds whose allocations the
 *        driver cannot tell apart
 * @param refused misses that the cache did not register, for lack of room or because the backend refused
 * @param evictions registrations removed to make room, the least recently used first
 * @param staleHits registrations whose memory had been freed
 * @param registrations current number of registrations
 * @param bytesPinned bytes that they pin, in whole pages
 *
 * @since 0.1
 */
public record RegistrationStatistics(
        long hits,
        long misses,
        long uncacheable,
        long refused,
        long evictions,
        long staleHits,
        int registrations,
        long bytesPinned) {

    static final RegistrationStatistics NONE = new RegistrationStatistics(0, 0, 0, 0, 0, 0, 0, 0);

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
}
