package io.gds4j.config;

/**
 * Combines {@code properties.force_compat_mode} and {@code properties.allow_compat_mode}.
 *
 * @since 0.1
 */
public enum CompatMode {
    /** POSIX I/O serves everything: {@code force_compat_mode} wins over {@code allow_compat_mode}. */
    FORCED,
    /** POSIX I/O serves what GPUDirect Storage cannot. */
    ALLOWED,
    /** GPUDirect Storage serves a request, or the request fails. */
    REFUSED
}
