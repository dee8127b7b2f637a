package io.gds4j.config;

/**
 * Numeric parameters of {@code cuFileGetParameterSizeT} and {@code cuFileSetParameterSizeT}
 * ({@code CUFileSizeTConfigParameter_t}), in the order of the C enum. Units as the names say (KB are 1024 bytes).
 *
 * @since 0.1
 */
public enum SizeParameter {
    PROFILE_STATS,
    EXECUTION_MAX_IO_QUEUE_DEPTH,
    EXECUTION_MAX_IO_THREADS,
    EXECUTION_MIN_IO_THRESHOLD_SIZE_KB,
    EXECUTION_MAX_REQUEST_PARALLELISM,
    PROPERTIES_MAX_DIRECT_IO_SIZE_KB,
    PROPERTIES_MAX_DEVICE_CACHE_SIZE_KB,
    PROPERTIES_PER_BUFFER_CACHE_SIZE_KB,
    PROPERTIES_MAX_DEVICE_PINNED_MEM_SIZE_KB,
    PROPERTIES_IO_BATCHSIZE,
    POLLTHRESHOLD_SIZE_KB,
    PROPERTIES_BATCH_IO_TIMEOUT_MS
}
