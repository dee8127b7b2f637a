package io.gds4j.tools.guest;

import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** The contract on a disk whose blocks have 4096 bytes: direct I/O must keep to them. */
@GuestTest
class LargeBlocksContractTest extends FileContract {
    private Path point = Path.of("/");

    @BeforeAll
    void mount() {
        point = Guest.mountNew("ext4", Guest.NVME);
    }

    @AfterAll
    void unmount() {
        Guest.unmount(point);
    }

    @Override
    public Path directory() {
        return point;
    }
}
