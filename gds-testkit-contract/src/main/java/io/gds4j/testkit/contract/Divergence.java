package io.gds4j.testkit.contract;

/**
 * Permitted divergences from the contract, all of which libcufile causes. Each test that a divergence affects names it.
 *
 * @since 0.1
 */
public enum Divergence {
    /** A handle uses the descriptor of the caller, and stops working when the caller closes it. */
    HANDLE_NEEDS_CALLERS_DESCRIPTOR,
    /** The backend refuses files without a block device, such as those of memfd_create and on tmpfs. */
    MEMFD_REFUSED,
    /** The driver opens only with compat mode, because the machine supports no other. */
    NEEDS_COMPAT_MODE,
    /** The backend reports failed system calls as EPERM or EIO, whatever their errno. */
    ERRNO_LOST,
    /** A request notices an interrupt only after its end. */
    UNINTERRUPTIBLE,
    /** Drivers that are open at the same time must have the same configuration, else DRIVER_ALREADY_OPEN. */
    ONE_CONFIGURATION,
    /** Two backends serve, and the statistics lack the requests of the second one. */
    STATISTICS_OF_ONE_BACKEND
}
