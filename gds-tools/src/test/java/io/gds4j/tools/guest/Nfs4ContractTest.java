package io.gds4j.tools.guest;

import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** The contract on NFS 4.2. */
@GuestTest
class Nfs4ContractTest extends FileContract {
    private Path point = Path.of("/");

    @BeforeAll
    void mount() {
        point = Guest.mountNfs("4.2", "hard");
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
