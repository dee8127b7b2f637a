package io.gds4j.testkit.contract;

/**
 * The ways in which a backend may differ from the contract: all that real libcufile forces upon us. Each test that meets
 * one names it.
 *
 * @since 0.1
 */
public enum Divergence {
    /** The handle works on the caller's descriptor, and dies when the caller closes it. */
    HANDLE_NEEDS_CALLERS_DESCRIPTOR,
    /** Files that are on no block device are refused: those of memfd_create, those on tmpfs. */
    MEMFD_REFUSED,
    /** The driver opens only where compat mode is allowed: this machine has no other. */
    NEEDS_COMPAT_MODE,
    /** A failed system call shows as EPERM or EIO, whatever the kernel said. */
    ERRNO_LOST,
    /** An interrupt is noticed only after the whole request. */
    UNINTERRUPTIBLE,
    /** Drivers that are open at the same time cannot differ in their configuration: DRIVER_ALREADY_OPEN. */
    ONE_CONFIGURATION,
    /** Two backends serve, and statistics are those of the first: what the second one served is missing. */
    STATISTICS_OF_ONE_BACKEND
}
