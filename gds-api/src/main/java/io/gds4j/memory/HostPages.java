package io.gds4j.memory;

/**
 * Pages that stand behind a host allocation.
 *
 * @since 0.1
 */
public enum HostPages {
    /** Of the system's base size. */
    BASE,
    /** Base pages that the kernel may merge into huge ones (MADV_HUGEPAGE). */
    TRANSPARENT_HUGE,
    /** Reserved huge pages (MAP_HUGETLB), all of them present. */
    HUGETLB
}
