package io.gds4j.statistics;

/**
 * The path of bytes between file and memory.
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
    /** gds4j, without the page cache (O_DIRECT). */
    COMPAT_DIRECT,
    /** gds4j, through the page cache. */
    COMPAT_BUFFERED,
    /** gds4j, from pages that the page cache already held. */
    COMPAT_CACHED,
    /** gds4j, from or to a source of the program or of gds-remote: an HTTP or S3 object, for example. */
    USER_SOURCE;

    /**
     * Returns whether this path is GPUDirect Storage: the device moves bytes to or from GPU memory without host memory.
     *
     * @return true for {@link #NVFS} and {@link #P2PDMA}
     */
    public boolean isDirect() {
        return this == NVFS || this == P2PDMA;
    }
}
