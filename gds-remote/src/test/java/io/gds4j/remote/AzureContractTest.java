package io.gds4j.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
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
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The contract of object stores, kept over Azurite, the emulator of Azure's storage, where dev/servers.sh has installed it. */
class AzureContractTest extends ObjectStoreContract {
    private static final String ACCOUNT = "testaccount";
    private static final String KEY = Base64.getEncoder().encodeToString(
            "a key of 32 bytes for the tests!".getBytes(StandardCharsets.US_ASCII));
    private static final HttpClient CLIENT = HttpClient.newHttpClient();
    private static final AtomicInteger CONTAINERS = new AtomicInteger();

    @TempDir
    static Path folder;

    private static RealServer server;
    private static int port;

    @BeforeAll
    static void begin() throws IOException {
        Path program = RealServer.program("azurite-blob", "dev/servers.sh installs it");
        port = RealServer.freePort();
        server = new RealServer(port, folder.resolve("log"), List.of("env", "AZURITE_ACCOUNTS=%s:%s".formatted(
                ACCOUNT, KEY), program.toString(), "--blobHost", "127.0.0.1", "--blobPort", String.valueOf(port),
                "--inMemoryPersistence", "--disableTelemetry", "--silent"));
    }

    @AfterAll
    static void end() {
        if (server != null) {
            server.close();
        }
    }

    private static URI endpoint(int at) {
        return URI.create("http://127.0.0.1:%s/%s".formatted(at, ACCOUNT));
    }

    private static AzureOptions options() {
        return AzureOptions.fromEnvironment(Map.of()).withAccountKey(ACCOUNT, KEY).withEndpoint(endpoint(port));
    }

    /** Sends a request that is not one of the code under test but for its signature. */
    private static HttpResponse<String> send(String method, URI uri, byte[] body, Map<String, String> headers)
            throws Exception {
        Map<String, String> sent = new TreeMap<>(headers);
        sent.put("Content-Length", String.valueOf(body.length));
        HttpRequest.Builder request = HttpRequest.newBuilder(uri).method(method, BodyPublishers.ofByteArray(body));
        headers.forEach(request::setHeader);
        options().signer().headers(method, uri, "", sent).forEach(request::setHeader);
        HttpResponse<String> answer = CLIENT.send(request.build(), BodyHandlers.ofString());
        assertThat(answer.statusCode()).as(answer.body()).isBetween(200, 299);
        return answer;
    }

    @Override
    protected StoreUnderTest newStore() throws Exception {
        String container = "models-" + CONTAINERS.incrementAndGet();
        send("PUT", AzureStore.of(ACCOUNT, container, options()).url("", Map.of("restype", "container")), new byte[0],
                Map.of());
        return new Store(container);
    }

    private record Store(String container) implements StoreUnderTest {
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
            send("PUT", AzureStore.of(ACCOUNT, container, options()).url(name, Map.of()), bytes,
                    Map.of("x-ms-blob-type", "BlockBlob"));
        }

        @Override
        public SourcePath path(String name, int at, Duration stall) {
            AzureOptions options = options().withEndpoint(endpoint(at)).withPartBytes(S3Server.PART)
                    .withHttp(HttpContractTest.options(stall));
            return AzureFiles.path(
                    URI.create("az://%s/%s/%s".formatted(ACCOUNT, container, ObjectName.escaped(name))), options);
        }

        @Override
        public List<String> secrets() {
            return List.of(KEY);
        }

        @Override
        public void close() {
            // the server goes on
        }
    }

    private SourcePath path(AzureOptions options) throws Exception {
        Store store = (Store) newStore();
        store.put("a", new byte[100_000]);
        store.put("b", new byte[10]);
        store.put("c", new byte[10]);
        return AzureFiles.path(URI.create("az://%s/%s/".formatted(ACCOUNT, store.container)), options);
    }

    /** Makes a shared access signature of the account, as Azure describes it. */
    private static String signature(String rights) throws Exception {
        String end = "2999-01-01T00:00:00Z";
        String text = String.join("\n", ACCOUNT, rights, "b", "sco", "", end, "", "", "2021-12-02", "", "");
        javax.crypto.Mac mac = javax.crypto.Mac.getInstance("HmacSHA256");
        mac.init(new javax.crypto.spec.SecretKeySpec(Base64.getDecoder().decode(KEY), "HmacSHA256"));
        String signature = Base64.getEncoder().encodeToString(mac.doFinal(text.getBytes(StandardCharsets.UTF_8)));
        return "?sv=2021-12-02&ss=b&srt=sco&sp=%s&se=%s&sig=%s".formatted(rights, end,
                ObjectName.escaped(signature).replace("/", "%2F"));
    }

    @Test
    void signatureOfSharedAccessReadsAndListsAndIsInNoMessage() throws Exception {
        AzureOptions shared = AzureOptions.fromEnvironment(Map.of("AZURE_STORAGE_ACCOUNT", ACCOUNT,
                "AZURE_STORAGE_SAS_TOKEN", signature("rl"))).withEndpoint(endpoint(port));
        SourcePath root = path(shared);
        assertThat(Files.size(root.resolve("a"))).isEqualTo(100_000);
        assertThat(Files.list(root)).containsExactly(root.resolve("a"), root.resolve("b"), root.resolve("c"));
        assertThatThrownBy(() -> Files.delete(root.resolve("a"))).isInstanceOf(CuFileException.class)
                .satisfies(e -> assertThat(((CuFileException) e).errno()).hasValue(Errno.EACCES))
                .hasMessageNotContaining("sig=").hasMessageNotContaining("\n");
        assertThat(shared + " " + root).doesNotContain("sig=");
    }

    @Test
    void wrongKeyIsRefusedAndStaysOutOfTexts() throws Exception {
        String wrong = Base64.getEncoder().encodeToString("hush".getBytes(StandardCharsets.US_ASCII));
        AzureOptions options = options().withAccountKey(ACCOUNT, wrong);
        SourcePath root = path(options);
        assertThatThrownBy(() -> Files.size(root.resolve("a"))).isInstanceOf(CuFileException.class)
                .hasMessageContaining("403").hasMessageContaining("AuthorizationFailure")
                .hasMessageNotContaining(wrong);
        assertThat(options + " " + options.signer()).doesNotContain(wrong);
    }

    @Test
    void missingContainerIsNamed() {
        SourcePath path = AzureFiles.path(URI.create("az://%s/nothing/a".formatted(ACCOUNT)), options());
        assertThatThrownBy(() -> Files.size(path)).isInstanceOf(CuFileException.class)
                .hasMessageContaining("there is no such container");
    }

    /** Azurite lists up to 5,000 names a page. */
    @Test
    void longListHasPages() throws Exception {
        SourcePath root = path(options());
        String container = root.toUri().getPath().substring(1).replace("/", "");
        HttpOptions http = HttpOptions.DEFAULTS;
        List<String> names = new S3Listing("", marker -> AzureStore.of(ACCOUNT, container, options()).url("",
                marker.isEmpty() ? Map.of("restype", "container", "comp", "list", "maxresults", "2")
                        : Map.of("restype", "container", "comp", "list", "maxresults", "2", "marker", marker)),
                new S3Requests(AzureStore.of(ACCOUNT, container, options().withHttp(http)).connections())).names();
        assertThat(names).containsExactly("a", "b", "c");
    }
}
