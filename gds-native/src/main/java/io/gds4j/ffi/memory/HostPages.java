package io.gds4j.ffi.memory;

/** Pages that stand behind a host allocation. */
public enum HostPages {
    /** Of the system's base size. */
    BASE,
    /** Base pages that the kernel may merge into huge ones (MADV_HUGEPAGE). */
    TRANSPARENT_HUGE,
    /** Reserved huge pages (MAP_HUGETLB), all of them present. */
    HUGETLB
}
