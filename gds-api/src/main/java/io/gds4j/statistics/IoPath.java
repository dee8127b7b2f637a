package io.gds4j.statistics;

/**
 * The way bytes took between file and memory.
 *
 * @since 0.1
 */
public enum IoPath {
    /** nvidia-fs: storage and GPU exchange data directly. */
    NVFS,
    /** The kernel's PCI peer-to-peer DMA. */
    P2PDMA,
    /** libcufile's own POSIX mode. */
    LIBCUFILE_POSIX,
    /** gds4j, past the page cache (O_DIRECT). */
    COMPAT_DIRECT,
    /** gds4j, through the page cache. */
    COMPAT_BUFFERED,
    /** gds4j, from pages that were in the cache already. */
    COMPAT_CACHED
}
