package io.gds4j.rdma;

import org.junit.jupiter.api.Tag;

/** Files to peers on Soft-RoCE, in the guest of dev/guest.sh. */
@Tag("rdma")
class WireTransferTest extends TransferContract {
    private static final TestDevice TESTED = TestDevice.ofGuest();

    @Override
    TestDevice tested() {
        return TESTED;
    }

    @Override
    int largeSize() {
        return Integer.getInteger("gds4j.rdma.bytes", 8 << 20);
    }
}
