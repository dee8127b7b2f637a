package io.gds4j.tools.io;

/** What is done to the page cache between warm-up and measurement. */
public enum CacheState {
    /** Nothing: it is as earlier use left it. */
    AS_IS,
    /** The file's pages are written back and dropped. */
    COLD,
    /** The file is read once. */
    HOT,
    /** The file is read once, then the second half of what is used of it is dropped. */
    MIXED
}
