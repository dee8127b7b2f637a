package io.gds4j.tools.guest;

import java.nio.file.Path;

/** The contract on NFS 3. */
@GuestTest
class Nfs3ContractTest extends FileContract {
    @Override
    Path mounted() {
        return Guest.mountNfs("3", "hard");
    }
}
