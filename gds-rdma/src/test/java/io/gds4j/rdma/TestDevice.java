package io.gds4j.rdma;

import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.verbs.SoftVerbs;

/**
 * The device that a contract tests.
 *
 * @param devices all devices
 * @param name name of the tested one
 * @param gidIndex entry of the address table of its port
 */
record TestDevice(RdmaDevices devices, String name, int gidIndex) {
    /** Returns the device of a double. */
    static TestDevice of(SoftVerbs verbs) {
        RdmaAvailability here = RdmaDevices.of(verbs, () -> new CudaAvailability.Unavailable("none", "none"));
        return new TestDevice(((RdmaAvailability.Available) here).verbs(), "soft0", 0);
    }

    /** Returns the device of Soft-RoCE, in the guest of dev/guest.sh. */
    static TestDevice ofGuest() {
        return new TestDevice(
                ((RdmaAvailability.Available) RdmaDevices.detect()).verbs(),
                System.getProperty("gds4j.rdma.device", "rxe0"), Integer.getInteger("gds4j.rdma.gid", 1));
    }

    /** Whether the device is Soft-RoCE, which differs from adapters in some points. */
    boolean isSoft() {
        return name.startsWith("rxe");
    }

    ProtectionDomain open() {
        return devices.open(name);
    }
}
