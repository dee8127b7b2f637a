package io.gds4j.config;

/**
 * Switches of {@code cuFileGetParameterBool} and {@code cuFileSetParameterBool} ({@code CUFileBoolConfigParameter_t}), in
 * the order of the C enum.
 *
 * @since 0.1
 */
public enum BoolParameter {
    PROPERTIES_USE_POLL_MODE,
    PROPERTIES_ALLOW_COMPAT_MODE,
    FORCE_COMPAT_MODE,
    FS_MISC_API_CHECK_AGGRESSIVE,
    EXECUTION_PARALLEL_IO,
    PROFILE_NVTX,
    PROPERTIES_ALLOW_SYSTEM_MEMORY,
    USE_PCIP2PDMA,
    PREFER_IO_URING,
    FORCE_ODIRECT_MODE,
    SKIP_TOPOLOGY_DETECTION,
    STREAM_MEMOPS_BYPASS
}
