package io.gds4j.rdma;

import org.junit.jupiter.api.Tag;

/** Files to peers on Soft-RoCE, in the guest of dev/guest.sh. */
@Tag("rdma")
class WireTransferTest extends TransferContract {
    @Override
    RdmaDevices devices() {
        return ((RdmaAvailability.Available) RdmaDevices.detect()).verbs();
    }

    @Override
    String device() {
        return System.getProperty("gds4j.rdma.device", "rxe0");
    }

    @Override
    int gidIndex() {
        return Integer.getInteger("gds4j.rdma.gid", 1);
    }

    @Override
    int largeSize() {
        return Integer.getInteger("gds4j.rdma.bytes", 8 << 20);
    }
}
