package io.gds4j.rdma;

import io.gds4j.error.CuFileError;
import io.gds4j.error.Errno;
import io.gds4j.ffi.verbs.Verbs;
import io.gds4j.internal.lifetime.Lifetime;

/**
 * An open device and its protection domain, for the members of the domain.
 *
 * @param device name of the device
 * @param context {@code ibv_context*}
 * @param handle {@code ibv_pd*}
 */
record DomainHandle(Verbs verbs, String device, long context, long handle) {
    void release() {
        check("ibv_dealloc_pd", verbs.deallocPd(handle));
    }

    void closeDevice() {
        check("ibv_close_device", verbs.closeDevice(context));
    }

    int check(String verb, int result) {
        return RdmaFailure.check(verb, device, result);
    }

    long check(String verb, long result) {
        return RdmaFailure.check(verb, device, result);
    }

    /** Claims the domain for a member, whose release unclaims it. */
    static void claim(Lifetime domain, String verb) {
        if (!domain.claim()) {
            throw RdmaFailure.of(CuFileError.MEMORY_NOT_REGISTERED, verb, Errno.EBADF, "the domain is closed");
        }
    }

    /** Begins a call that uses the domain. */
    static Lifetime.Call begin(Lifetime domain, String verb) {
        return domain.begin(
                () -> RdmaFailure.of(CuFileError.MEMORY_NOT_REGISTERED, verb, Errno.EBADF, "the domain is closed"));
    }

    /** Refuses a member of another domain. */
    void requireSame(DomainHandle other, String verb, String what) {
        if (!equals(other)) {
            throw RdmaFailure.of(
                    CuFileError.MEMORY_NOT_REGISTERED, verb, Errno.EINVAL,
                    what + " belongs to another protection domain");
        }
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof DomainHandle domain && domain.verbs == verbs && domain.handle == handle;
    }

    @Override
    public int hashCode() {
        return Long.hashCode(handle);
    }
}
