package io.gds4j.tools.io;

/** How {@code gds io} prepares the page cache between warm-up and measurement. */
public enum CacheState {
    /** Leaves the page cache unchanged. */
    AS_IS,
    /** Writes the file's pages back and drops them. */
    COLD,
    /** Reads the file once. */
    HOT,
    /** Reads the file once, then drops the second half of the used range. */
    MIXED
}
