package io.gds4j.remote;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.remote.contract.ObjectStoreContract;
import io.gds4j.remote.contract.StoreUnderTest;
import io.gds4j.source.SourcePath;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;

/** The contract of object stores, kept over fake-gcs-server, an emulator of Google Cloud Storage, where dev/servers.sh has built it. */
class GcsContractTest extends ObjectStoreContract {
    static final String TOKEN = "token-hush";
    private static final HttpClient CLIENT = HttpClient.newHttpClient();
    private static final AtomicInteger BUCKETS = new AtomicInteger();

    @TempDir
    static Path folder;

    private static RealServer server;
    private static int port;

    @BeforeAll
    static void begin() throws IOException {
        Path program = RealServer.program("fake-gcs-server", "dev/servers.sh builds it");
        port = RealServer.freePort();
        server = new RealServer(port, folder.resolve("log"), List.of(program.toString(), "-backend", "memory",
                "-scheme", "http", "-host", "127.0.0.1", "-port", String.valueOf(port), "-public-host", "127.0.0.1",
                "-log-level", "error"));
    }

    @AfterAll
    static void end() {
        if (server != null) {
            server.close();
        }
    }

    private static void post(String path, byte[] body) throws Exception {
        URI uri = URI.create("http://127.0.0.1:%s%s".formatted(port, path));
        HttpResponse<String> answer = CLIENT.send(
                HttpRequest.newBuilder(uri).POST(BodyPublishers.ofByteArray(body)).build(), BodyHandlers.ofString());
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
    }

    @Override
    protected StoreUnderTest newStore() throws Exception {
        String bucket = "models-" + BUCKETS.incrementAndGet();
        post("/storage/v1/b?project=p", "{\"name\": \"%s\"}".formatted(bucket).getBytes(StandardCharsets.UTF_8));
        return new Store(bucket);
    }

    private record Store(String bucket) implements StoreUnderTest {
        @Override
        public Set<Ability> abilities() {
            return Set.of(Ability.values());
        }

        @Override
        public int port() {
            return port;
        }

        @Override
        public void put(String name, byte[] bytes) throws Exception {
            post("/upload/storage/v1/b/%s/o?uploadType=media&name=%s".formatted(
                    bucket, ObjectName.escaped(name).replace("/", "%2F")), bytes);
        }

        @Override
        public SourcePath path(String name, int at, Duration stall) {
            GcsOptions options = GcsOptions.fromEnvironment(Map.of(
                    "STORAGE_EMULATOR_HOST", "127.0.0.1:" + at, "GOOGLE_OAUTH_ACCESS_TOKEN", TOKEN))
                    .withPartBytes(S3Server.PART).withHttp(HttpContractTest.options(stall));
            return GcsFiles.path(URI.create("gs://%s/%s".formatted(bucket, ObjectName.escaped(name))), options);
        }

        @Override
        public List<String> secrets() {
            return List.of(TOKEN);
        }

        @Override
        public void close() {
            // the server goes on
        }
    }
}
