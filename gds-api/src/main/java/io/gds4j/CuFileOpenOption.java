package io.gds4j;

import java.nio.file.OpenOption;

/**
 * Open options beside {@link java.nio.file.StandardOpenOption}.
 *
 * @since 0.1
 */
public enum CuFileOpenOption implements OpenOption {
    /** O_DIRECT: past the page cache, where the file system can. */
    DIRECT,

    /**
     * A hint: what is read is not wanted again, so the page cache stays as it is. What is in it is taken from there, the rest
     * goes past it, or leaves it at once where the file system has no O_DIRECT. For files that are read once and are larger than
     * what other programs should lose of the cache. gds4j's own backend heeds it; libcufile has no such thing.
     */
    DROP
}
