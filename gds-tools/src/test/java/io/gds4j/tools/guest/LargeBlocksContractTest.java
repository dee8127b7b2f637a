package io.gds4j.tools.guest;

import java.nio.file.Path;

/** The contract on a disk whose blocks have 4096 bytes: direct I/O must keep to them. */
@GuestTest
class LargeBlocksContractTest extends FileContract {
    @Override
    Path mounted() {
        return Guest.mountNew("ext4", Guest.NVME);
    }
}
