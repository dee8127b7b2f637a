package io.gds4j.config;

import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A numeric parameter of {@code cuFileGetParameterSizeT} and {@code cuFileSetParameterSizeT}
 * ({@code CUFileSizeTConfigParameter_t}), in the order of the C enum. Names contain the unit; KB is 1024 bytes, MS milliseconds.
 *
 * @since 0.1
 */
public enum SizeParameter implements CuFileParameter<Long> {
    /** {@code profile.cufile_stats}: level of statistics. cuFile reports no range for it. */
    PROFILE_STATS(null),
    /** {@code execution.max_io_queue_depth}. */
    EXECUTION_MAX_IO_QUEUE_DEPTH(new ParameterRange(1, 256)),
    /** {@code execution.max_io_threads}. */
    EXECUTION_MAX_IO_THREADS(new ParameterRange(0, 128)),
    /** {@code execution.min_io_threshold_size_kb}. */
    EXECUTION_MIN_IO_THRESHOLD_SIZE_KB(new ParameterRange(4, 4294967295L)),
    /** {@code execution.max_request_parallelism}. */
    EXECUTION_MAX_REQUEST_PARALLELISM(new ParameterRange(0, 8)),
    /** {@code properties.max_direct_io_size_kb}. */
    PROPERTIES_MAX_DIRECT_IO_SIZE_KB(new ParameterRange(64, 16384)),
    /** {@code properties.max_device_cache_size_kb}. */
    PROPERTIES_MAX_DEVICE_CACHE_SIZE_KB(new ParameterRange(0, 268435456)),
    /** {@code properties.per_buffer_cache_size_kb}. */
    PROPERTIES_PER_BUFFER_CACHE_SIZE_KB(new ParameterRange(64, 16384)),
    /** {@code properties.max_device_pinned_mem_size_kb}. */
    PROPERTIES_MAX_DEVICE_PINNED_MEM_SIZE_KB(new ParameterRange(64, 268435456)),
    /** {@code properties.io_batchsize}. */
    PROPERTIES_IO_BATCHSIZE(new ParameterRange(1, 256)),
    /** {@code properties.poll_mode_max_size_kb}. */
    POLLTHRESHOLD_SIZE_KB(new ParameterRange(4, CuFileKeys.MAX_KB)),
    /** {@code properties.max_batch_io_timeout_msecs}. */
    PROPERTIES_BATCH_IO_TIMEOUT_MS(new ParameterRange(1, 1000));

    private final @Nullable ParameterRange range;

    SizeParameter(@Nullable ParameterRange range) {
        this.range = range;
    }

    /**
     * Returns the range that {@code cuFileGetParameterMinMaxValue} of cuFile 1.20 reports on an H200. Before
     * 1.17 the maximum of {@link #EXECUTION_MAX_IO_THREADS} is 32. The maximum of the two
     * device sizes is the BAR1 aperture of this GPU; {@link ConfigKey#range()} of cufile.json is larger.
     *
     * @return the range; empty for {@link #PROFILE_STATS}, where cuFile returns INVALID_VALUE
     */
    public Optional<ParameterRange> range() {
        return Optional.ofNullable(range);
    }
}
