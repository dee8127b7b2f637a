package io.gds4j.loader;

/**
 * How a writer ends the header: with spaces, which every reader passes over.
 *
 * @since 0.1
 */
public enum HeaderPadding {
    /** Data begins at a multiple of 4096: direct I/O needs no unaligned first block. */
    PAGE,
    /** Data begins at a multiple of 8, as the reference writer does it. */
    EIGHT,
    /** No padding, as other writers do it: data begins anywhere. */
    NONE,
    /** Data begins at an odd byte: for tests. */
    ODD;

    /** Spaces to put behind so many bytes of JSON. */
    int spaces(int json) {
        int end = Long.BYTES + json;
        return switch (this) {
            case PAGE -> -end & 4095;
            case EIGHT -> -end & 7;
            case NONE -> 0;
            case ODD -> 1 - (end & 1);
        };
    }
}
