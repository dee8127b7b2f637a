package io.gds4j;

import java.nio.file.OpenOption;

/**
 * Options of {@link CuFileDriver#openFile} in addition to {@link java.nio.file.StandardOpenOption}.
 *
 * @since 0.1
 */
public enum CuFileOpenOption implements OpenOption {
    /** O_DIRECT: bypasses the page cache if the file system can. */
    DIRECT,

    /**
     * A hint that the program reads the file once: reads leave the page cache as it is. Cached bytes come from the cache, others
     * bypass it; without O_DIRECT they are dropped from it after the read. The compat backend obeys it; libcufile ignores it.
     */
    DROP
}
