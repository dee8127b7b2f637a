package io.gds4j;

/**
 * Counters of a session's registration cache.
 *
 * @since 0.1
 */
public sealed interface RegistrationStatistics permits RegistrationStatisticsParts {
    /** {@return requests whose memory was registered} */
    long hits();

    /** {@return requests whose memory could be cached but was not registered} */
    long misses();

    /**
     * {@return requests on memory that is never cached: host memory, managed memory, and kinds whose allocations the driver cannot
     * tell apart}
     */
    long uncacheable();

    /** {@return misses that the cache did not register, for lack of room or because the backend refused} */
    long refused();

    /** {@return registrations removed to make room, the least recently used first} */
    long evictions();

    /** {@return registrations whose memory had been freed} */
    long staleHits();

    /** {@return current number of registrations} */
    int registrations();

    /** {@return bytes that they pin, in whole pages} */
    long bytesPinned();
}
