package io.gds4j.compat.plan;

import org.jspecify.annotations.Nullable;

/** Whether a request goes by way of the page cache: a table of what is cached, and of what the handle allows. */
enum Route {
    /** Whole blocks bypass the page cache, as the handle was opened for. Pieces of reads still take what is cached. */
    DIRECT,
    /** Through the page cache. */
    BUFFERED,
    /** A read of a buffered handle that leaves the page cache as it was: direct where that is possible, else dropped behind. */
    BYPASS_CACHE;

    /** What handle and request allow. Barred: the file system refuses direct I/O, or the request is not aligned for it. */
    enum Access {
        /** The handle is direct. */
        DIRECT,
        DIRECT_BARRED,
        /** The handle is buffered, and what it reads may stay cached. So are all writes of a buffered handle. */
        BUFFERED,
        /** The handle is buffered, and what it reads must not evict other pages: it has DROP, or the request is too large. */
        SPARING,
        SPARING_BARRED;

        /** Returns whether bytes may bypass the page cache. */
        boolean mayPass() {
            return this == DIRECT || this == SPARING;
        }
    }

    /**
     * Rows: verdicts, columns: accesses. Null where they never meet: what is cached evicts nothing, and the head alone is looked for only where
     * bytes can bypass the cache.
     */
    private static final @Nullable Route[][] TABLE = {
            //                 DIRECT    BARRED    BUFFERED  SPARING       BARRED
            /* ALL_CACHED */ {BUFFERED, BUFFERED, BUFFERED, null, null},
            /* SEEMS_CACHED */ {DIRECT, BUFFERED, BUFFERED, null, null},
            /* HEAD_CACHED */ {DIRECT, null, null, BYPASS_CACHE, null},
            /* COLD */ {DIRECT, BUFFERED, BUFFERED, BYPASS_CACHE, BYPASS_CACHE},
            /* UNKNOWN */ {DIRECT, BUFFERED, BUFFERED, BYPASS_CACHE, BYPASS_CACHE}
    };

    /** Returns what the table says; null where verdict and access never meet. */
    static @Nullable Route in(CacheVerdict verdict, Access access) {
        return TABLE[verdict.ordinal()][access.ordinal()];
    }
}
