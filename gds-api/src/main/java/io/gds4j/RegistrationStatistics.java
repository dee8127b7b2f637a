package io.gds4j;

import io.gds4j.internal.registration.CacheStatistics;

/**
 * What a session's cache of registrations has done.
 *
 * @param hits requests whose memory was registered already
 * @param misses requests whose allocation was not, and could be
 * @param uncacheable requests on memory that is never cached: of the host, managed, or of a kind whose allocations nothing
 *        tells apart
 * @param refused misses that went unregistered because there was no room or the backend did not want to
 * @param evictions registrations given up for others, the least recently used first
 * @param staleHits registrations found to be of memory that had been freed
 * @param registrations registrations now
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
