package io.gds4j.config;

/**
 * What {@code properties.force_compat_mode} and {@code properties.allow_compat_mode} say together.
 *
 * @since 0.1
 */
public enum CompatMode {
    /** POSIX I/O serves everything, whether allowed or not: forcing wins. */
    FORCED,
    /** POSIX I/O serves what GPUDirect Storage cannot. */
    ALLOWED,
    /** GPUDirect Storage or an error. */
    REFUSED
}
