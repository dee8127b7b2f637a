package io.gds4j.tools.guest;

import java.nio.file.Path;

/** The contract on NFS 4.2. */
@GuestTest
class Nfs4ContractTest extends FileContract {
    @Override
    Path mounted() {
        return Guest.mountNfs("4.2", "hard");
    }
}
