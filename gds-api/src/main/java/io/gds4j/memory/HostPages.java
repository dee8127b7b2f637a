package io.gds4j.memory;

/**
 * The pages of a host allocation.
 *
 * @since 0.1
 */
public enum HostPages {
    /** Pages of the system's base size. */
    BASE,
    /** Base pages that the kernel may merge into huge ones (MADV_HUGEPAGE). */
    TRANSPARENT_HUGE,
    /** Reserved huge pages (MAP_HUGETLB), all mapped. */
    HUGETLB
}
