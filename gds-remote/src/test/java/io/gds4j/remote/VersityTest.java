package io.gds4j.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.error.CuFileException;
import io.gds4j.remote.contract.ObjectStoreContract;
import io.gds4j.remote.contract.StoreUnderTest;
import io.gds4j.source.SourcePath;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The contract of object stores, kept over versitygw, an S3 server that keeps objects as files, where dev/servers.sh has built it. */
class VersityTest extends ObjectStoreContract {
    private static final HttpClient CLIENT = HttpClient.newHttpClient();
    private static final S3Credentials KEYS = S3Credentials.of("AKIDTEST", "hushhush");
    private static final int PART = 5 << 20; // versitygw refuses shorter ones
    private static final AtomicInteger BUCKETS = new AtomicInteger();

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

    private static S3Options options(int at) {
        return S3Options.fromEnvironment(Map.of("AWS_ENDPOINT_URL", "http://127.0.0.1:" + at, "AWS_ACCESS_KEY_ID",
                KEYS.accessKey(), "AWS_SECRET_ACCESS_KEY", KEYS.secretKey(), "HOME", folder.toString())).toBuilder()
                .partBytes(PART).build();
    }

    /** Sends a request that is not one of the code under test but for its signature. */
    private static String send(String method, String bucket, String name, Map<String, String> query, byte[] body)
            throws Exception {
        URI uri = new S3Names(bucket, options(port)).url(name, query);
        HttpRequest.Builder request = HttpRequest.newBuilder(uri).method(method, BodyPublishers.ofByteArray(body));
        S3Signer.of("us-east-1", () -> KEYS).headers(method, uri, S3Signer.sha256(MemorySegment.ofArray(body)),
                Map.of()).forEach((key, value) -> {
                    if (!key.equals("host")) {
                        request.setHeader(key, value);
                    }
                });
        HttpResponse<String> answer = CLIENT.send(request.build(), BodyHandlers.ofString());
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
        return answer.body();
    }

    @Override
    protected StoreUnderTest newStore() throws Exception {
        String bucket = "models-" + BUCKETS.incrementAndGet();
        send("PUT", bucket, "", Map.of(), new byte[0]);
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
            send("PUT", bucket, name, Map.of(), bytes);
        }

        @Override
        public SourcePath path(String name, int at, Duration stall) {
            return S3Files.path(URI.create("s3://%s/%s".formatted(bucket, ObjectName.escaped(name))),
                    options(at).toBuilder().http(HttpContractTest.options(stall)).build());
        }

        @Override
        public List<String> secrets() {
            return List.of(KEYS.secretKey());
        }

        @Override
        public int largeBytes() {
            return 3 * PART + 1;
        }

        @Override
        public List<String> leftovers() {
            try {
                return Pattern.compile("<UploadId>[^<]*").matcher(
                        send("GET", bucket, "", Map.of("uploads", ""), new byte[0])).results()
                        .map(MatchResult::group).toList();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }

        @Override
        public void close() {
            // the server goes on
        }
    }

    @Test
    void codesOfTheServerReachTheUser() throws Exception {
        Store store = (Store) newStore();
        store.put("denied", new byte[10]);
        for (S3Credentials keys : List.of(
                S3Credentials.of("AKIDTEST", "wrong"), S3Credentials.of("NOBODY", "hushhush"))) {
            Path path = S3Files.path(URI.create("s3://" + store.bucket + "/denied"),
                    options(port).toBuilder().credentials(keys).build());
            assertThatThrownBy(() -> Files.readAllBytes(path)).isInstanceOf(CuFileException.class)
                    .hasMessageContaining(
                            keys.accessKey().equals("NOBODY") ? "UserNotFound" : "SignatureDoesNotMatch")
                    .hasMessageNotContaining("hush");
        }
        assertThatThrownBy(() -> Files.list(S3Files.path(URI.create("s3://none/x/"), options(port))))
                .hasMessageContaining("no such bucket");
    }
}
