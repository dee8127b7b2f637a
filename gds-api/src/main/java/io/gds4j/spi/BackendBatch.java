package io.gds4j.spi;

/**
 * A batch as its backend knows it ({@code CUfileBatchHandle_t}); meaningful to that backend alone.
 *
 * @since 0.1
 */
public interface BackendBatch {
    /** {@return entries that may be outstanding at a time} */
    int capacity();
}
