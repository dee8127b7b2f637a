package io.gds4j.compat.plan;

/** What the planner knows of a request's bytes in the page cache. */
enum CacheVerdict {
    /** All bytes are there. No piece asks again. */
    ALL_CACHED,
    /** All samples are there. For the number of threads this suffices; a direct request has each of its pieces ask. */
    SEEMS_CACHED,
    /** The beginning is there and the end is not. */
    HEAD_CACHED,
    /** Some bytes are not there. */
    COLD,
    /** The planner did not ask, or the kernel cannot tell. */
    UNKNOWN;

    /** Returns whether a request will find its bytes in memory. */
    boolean isCached() {
        return this == ALL_CACHED || this == SEEMS_CACHED;
    }
}
