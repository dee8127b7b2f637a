package io.gds4j.config;

import java.util.List;

/**
 * The keys of cufile.json.
 *
 * @since 0.1
 */
public final class CuFileKeys {
    public static final ConfigKey<Long> MAX_IO_QUEUE_DEPTH = ConfigKey.number("execution.max_io_queue_depth", 128);
    public static final ConfigKey<Long> MAX_IO_THREADS = ConfigKey.number("execution.max_io_threads", 4);
    public static final ConfigKey<Boolean> PARALLEL_IO = ConfigKey.flag("execution.parallel_io", true);
    public static final ConfigKey<Long> MIN_IO_THRESHOLD_SIZE_KB =
            ConfigKey.number("execution.min_io_threshold_size_kb", 8192);
    public static final ConfigKey<Long> MAX_REQUEST_PARALLELISM =
            ConfigKey.number("execution.max_request_parallelism", 4);
    public static final ConfigKey<Long> MAX_DIRECT_IO_SIZE_KB =
            ConfigKey.number("properties.max_direct_io_size_kb", 16384);
    public static final ConfigKey<Long> IO_BATCHSIZE = ConfigKey.number("properties.io_batchsize", 128);
    public static final ConfigKey<Boolean> ALLOW_COMPAT_MODE = ConfigKey.flag("properties.allow_compat_mode", true);
    public static final ConfigKey<Boolean> FORCE_COMPAT_MODE = ConfigKey.flag("properties.force_compat_mode", false);
    public static final ConfigKey<Boolean> FORCE_ODIRECT_MODE = ConfigKey.flag("properties.force_odirect_mode", false);
    public static final ConfigKey<Boolean> ALLOW_SYSTEM_MEMORY =
            ConfigKey.flag("properties.allow_system_memory", true);
    public static final ConfigKey<List<Long>> POSIX_POOL_SLAB_SIZE_KB =
            ConfigKey.numbers("properties.posix_pool_slab_size_kb", List.of(4L, 1024L, 16384L));
    public static final ConfigKey<List<Long>> POSIX_POOL_SLAB_COUNT =
            ConfigKey.numbers("properties.posix_pool_slab_count", List.of(128L, 64L, 64L));

    public static final ConfigKey<Boolean> USE_POLL_MODE = ConfigKey.flag("properties.use_poll_mode", false);
    public static final ConfigKey<Long> POLL_MODE_MAX_SIZE_KB = ConfigKey.number("properties.poll_mode_max_size_kb", 4);
    public static final ConfigKey<Long> MAX_DEVICE_CACHE_SIZE_KB =
            ConfigKey.number("properties.max_device_cache_size_kb", 131072);
    public static final ConfigKey<Long> PER_BUFFER_CACHE_SIZE_KB =
            ConfigKey.number("properties.per_buffer_cache_size_kb", 1024);
    public static final ConfigKey<Long> MAX_DEVICE_PINNED_MEM_SIZE_KB =
            ConfigKey.number("properties.max_device_pinned_mem_size_kb", 33554432);
    public static final ConfigKey<Long> MAX_BATCH_IO_TIMEOUT_MSECS =
            ConfigKey.number("properties.max_batch_io_timeout_msecs", 5);

    private CuFileKeys() {
    }
}
