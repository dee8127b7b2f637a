package io.gds4j;

import io.gds4j.internal.registration.RegistrationCache.Statistics;

/** The parts of {@link RegistrationStatistics}. */
record RegistrationStatisticsParts(long hits, long misses, long uncacheable, long refused, long evictions,
        long staleHits, int registrations, long bytesPinned) implements RegistrationStatistics {

    /** Of a session without a cache. */
    static final RegistrationStatistics NONE = new RegistrationStatisticsParts(0, 0, 0, 0, 0, 0, 0, 0);

    static RegistrationStatistics of(Statistics counted) {
        return new RegistrationStatisticsParts(counted.hits(), counted.misses(), counted.uncacheable(),
                counted.refused(), counted.evictions(), counted.staleHits(), counted.registrations(),
                counted.bytesPinned());
    }
}
