package io.gds4j;

import java.nio.file.OpenOption;

/**
 * Open options beside {@link java.nio.file.StandardOpenOption}.
 *
 * @since 0.1
 */
public enum CuFileOpenOption implements OpenOption {
    /** O_DIRECT: past the page cache, where the file system can. */
    DIRECT
}
