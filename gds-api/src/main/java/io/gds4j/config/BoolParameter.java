package io.gds4j.config;

/**
 * A switch of {@code cuFileGetParameterBool} and {@code cuFileSetParameterBool} ({@code CUFileBoolConfigParameter_t}), in the
 * order of the C enum.
 *
 * @since 0.1
 */
public enum BoolParameter implements CuFileParameter<Boolean> {
    /** {@code properties.use_poll_mode}. */
    PROPERTIES_USE_POLL_MODE,
    /** {@code properties.allow_compat_mode}. */
    PROPERTIES_ALLOW_COMPAT_MODE,
    /** {@code properties.force_compat_mode}. */
    FORCE_COMPAT_MODE,
    /** {@code miscellaneous.api_check_aggressive}. */
    FS_MISC_API_CHECK_AGGRESSIVE,
    /** {@code execution.parallel_io}. */
    EXECUTION_PARALLEL_IO,
    /** {@code profile.nvtx}; libcufile has it before cuFile 1.17 only. */
    PROFILE_NVTX,
    /** {@code properties.allow_system_memory}. */
    PROPERTIES_ALLOW_SYSTEM_MEMORY,
    /** {@code properties.use_pci_p2pdma}. */
    USE_PCIP2PDMA,
    /** {@code properties.prefer_iouring}. */
    PREFER_IO_URING,
    /** {@code properties.force_odirect_mode}. */
    FORCE_ODIRECT_MODE,
    /** {@code miscellaneous.skip_topology_detection}. */
    SKIP_TOPOLOGY_DETECTION,
    /** {@code miscellaneous.stream_memops_bypass}. */
    STREAM_MEMOPS_BYPASS,
    /** {@code properties.vanilla_posix_io_mode}; from cuFile 1.19 on. */
    PROPERTIES_POSIX_IO_MODE,
    /** {@code properties.gds_fallback_io}; from cuFile 1.19 on. */
    GDS_FALLBACK_IO
}
