package io.gds4j.loader;

import io.gds4j.internal.file.Pages;

/**
 * How a writer pads the header with spaces, which every reader skips.
 *
 * @since 0.1
 */
public enum HeaderPadding {
    /** Data begins at a multiple of 4096, so direct I/O needs no unaligned first block. */
    PAGE,
    /** Data begins at a multiple of 8, as with the reference writer. */
    EIGHT,
    /** No padding, as with some other writers: data begins anywhere. */
    NONE,
    /** Data begins at an odd byte, for tests. */
    ODD;

    /**
     * Returns the number of spaces after the JSON text.
     *
     * @param json length of the JSON text in bytes
     */
    int spaces(int json) {
        int end = Long.BYTES + json;
        return switch (this) {
            case PAGE -> (int) Pages.offset(-end);
            case EIGHT -> -end & 7;
            case NONE -> 0;
            case ODD -> 1 - (end & 1);
        };
    }
}
