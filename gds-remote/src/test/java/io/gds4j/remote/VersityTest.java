package io.gds4j.remote;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.error.CuFileException;
import io.gds4j.remote.contract.ObjectStoreContract;
import io.gds4j.remote.contract.StoreUnderTest;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The contract of object stores, kept over versitygw, an S3 server that keeps objects as files, where dev/servers.sh has built it. */
class VersityTest extends ObjectStoreContract {
    private static final S3Credentials KEYS = S3Credentials.of("AKIDTEST", "hushhush");
    private static final int PART = 5 << 20; // versitygw refuses shorter ones

    @TempDir
    static Path folder;

    private static RealServer server;
    private static int port;

    @BeforeAll
    static void begin() throws IOException {
        Path program = RealServer.program("versitygw", "dev/servers.sh builds it");
        port = RealServer.freePort();
        Path root = Files.createDirectories(folder.resolve("root"));
        server = new RealServer(port, folder.resolve("log"), List.of(program.toString(), "--access", KEYS.accessKey(),
                "--secret", KEYS.secretKey(), "--port", "127.0.0.1:" + port, "posix", root.toString()));
    }

    @AfterAll
    static void end() {
        if (server != null) {
            server.close();
        }
    }

    @Override
    protected StoreUnderTest newStore() throws Exception {
        return SignedStore.create(port, KEYS, PART);
    }

    @Test
    void codesOfTheServerReachTheUser() throws Exception {
        SignedStore store = SignedStore.create(port, KEYS, PART);
        store.put("denied", new byte[10]);
        for (S3Credentials keys : List.of(
                S3Credentials.of("AKIDTEST", "wrong"), S3Credentials.of("NOBODY", "hushhush"))) {
            Path path = S3Files.path(URI.create("s3://" + store.bucket() + "/denied"),
                    store.options(port).withCredentials(keys));
            assertThatThrownBy(() -> Files.readAllBytes(path)).isInstanceOf(CuFileException.class)
                    .hasMessageContaining(
                            keys.accessKey().equals("NOBODY") ? "UserNotFound" : "SignatureDoesNotMatch")
                    .hasMessageNotContaining("hush");
        }
        assertThatThrownBy(() -> Files.list(S3Files.path(URI.create("s3://none/x/"), store.options(port))))
                .hasMessageContaining("no such bucket");
    }
}
