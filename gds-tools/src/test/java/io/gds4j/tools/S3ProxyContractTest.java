package io.gds4j.tools;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gds4j.remote.S3Credentials;
import io.gds4j.remote.SignedStore;
import io.gds4j.remote.contract.ObjectStoreContract;
import io.gds4j.remote.contract.StoreUnderTest;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** The contract of object stores, kept over s3proxy, where the profile s3proxy puts it on the class path. */
@Tag("slow")
class S3ProxyContractTest extends ObjectStoreContract {
    private static final int PART = 5 << 20; // as S3 has it

    private static S3ProxyServer server;

    @BeforeAll
    static void onlyWithTheServer() {
        assumeTrue(S3ProxyServer.isHere(), "no s3proxy here; the profile s3proxy adds it");
        server = new S3ProxyServer();
    }

    @AfterAll
    static void end() {
        if (server != null) {
            server.close();
        }
    }

    @Override
    protected StoreUnderTest newStore() throws Exception {
        return SignedStore.create(server.endpoint().getPort(), S3Credentials.of("AKIDTEST", S3ProxyServer.SECRET),
                PART);
    }
}
