package io.gds4j.rdma;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.verbs.SoftVerbs;
import org.junit.jupiter.api.AfterEach;

/** Files to peers on a double. */
class SoftTransferTest extends TransferContract {
    private final SoftVerbs verbs = new SoftVerbs("soft0");

    @Override
    RdmaDevices devices() {
        return ((RdmaAvailability.Available) RdmaDevices.of(
                verbs, () -> new CudaAvailability.Unavailable("none", "none"))).verbs();
    }

    @Override
    String device() {
        return "soft0";
    }

    @Override
    int gidIndex() {
        return 0;
    }

    @Override
    int largeSize() {
        return 8 << 20;
    }

    @AfterEach
    void noCompletionWasLost() {
        assertThat(verbs.hasOverflowed()).isFalse();
    }
}
