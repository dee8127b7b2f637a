package io.gds4j.spi;

/**
 * A batch of one backend ({@code CUfileBatchHandle_t}); no other backend takes it.
 *
 * @since 0.1
 */
public interface BackendBatch {
    /** {@return largest number of outstanding entries} */
    int capacity();
}
