package io.gds4j.remote.azure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.azure.core.credential.AccessToken;
import com.azure.core.credential.TokenCredential;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.remote.AzureFiles;
import io.gds4j.remote.AzureOptions;
import io.gds4j.remote.HttpOptions;
import io.gds4j.source.Cancellation;
import io.gds4j.source.RangeSource;
import io.gds4j.source.SourcePath;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import reactor.core.publisher.Mono;

/**
 * Tokens of Microsoft Entra in requests to Azurite, the emulator of Azure's storage, where dev/servers.sh has installed it. Azurite looks at audience,
 * issuer and times of a token, not at its signature.
 */
@Timeout(300)
class AzuriteTokenTest {
    private static final Path PROGRAM = Path.of("../target/servers/azurite-blob").toAbsolutePath();
    private static final String ACCOUNT = "testaccount";
    private static final String PASSWORD = "changeit";
    private static final Pattern LISTENS = Pattern.compile("listens on (https://127\\.0\\.0\\.1:\\d+)");
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @TempDir
    static Path folder;

    private static Process server;
    private static URI endpoint;

    @BeforeAll
    static void begin() throws Exception {
        assumeTrue(Files.isExecutable(PROGRAM), "no azurite-blob here: dev/servers.sh installs it");
        Path keys = folder.resolve("keys.p12");
        keytool("-genkeypair", "-alias", "a", "-keyalg", "EC", "-dname", "CN=localhost", "-ext", "san=ip:127.0.0.1",
                "-storetype", "PKCS12", "-storepass", PASSWORD, "-keystore", keys.toString());
        keytool("-exportcert", "-rfc", "-alias", "a", "-storepass", PASSWORD, "-keystore", keys.toString(), "-file",
                folder.resolve("ca.pem").toString());
        ProcessBuilder builder = new ProcessBuilder(PROGRAM.toString(), "--blobHost", "127.0.0.1", "--blobPort", "0",
                "--inMemoryPersistence", "--disableTelemetry", "--oauth", "basic", "--cert", keys.toString(), "--pwd",
                PASSWORD);
        builder.environment().put("AZURITE_ACCOUNTS", ACCOUNT + ":"
                + Base64.getEncoder().encodeToString("a key that no test uses".getBytes(StandardCharsets.US_ASCII)));
        server = builder.redirectErrorStream(true).redirectOutput(folder.resolve("log").toFile()).start();
        endpoint = URI.create(address() + "/" + ACCOUNT);
        makeContainer(keys);
    }

    private static void keytool(String... arguments) throws Exception {
        List<String> command = new ArrayList<>(List.of(System.getProperty("java.home") + "/bin/keytool",
                "-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC"));
        command.addAll(List.of(arguments));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(output).isZero();
    }

    private static String address() throws IOException {
        long begun = System.nanoTime();
        while (true) {
            String log = Files.readString(folder.resolve("log"));
            Matcher line = LISTENS.matcher(log);
            if (line.find()) {
                return line.group(1);
            }
            if (!server.isAlive() || System.nanoTime() - begun > PATIENCE.toNanos()) {
                throw new IOException("Azurite did not start: " + log);
            }
            LockSupport.parkNanos(Duration.ofMillis(10).toNanos());
        }
    }

    /** Not by the code under test. */
    private static void makeContainer(Path keys) throws Exception {
        KeyStore store = KeyStore.getInstance(keys.toFile(), PASSWORD.toCharArray());
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(store);
        SSLContext tls = SSLContext.getInstance("TLS");
        tls.init(null, trust.getTrustManagers(), null);
        try (HttpClient client = HttpClient.newBuilder().sslContext(tls).build()) {
            assertThat(client.send(HttpRequest.newBuilder(URI.create(endpoint + "/models?restype=container"))
                    .header("Authorization", "Bearer " + token(Duration.ofHours(1)))
                    .header("x-ms-version", "2021-12-02")
                    .PUT(BodyPublishers.noBody()).build(), BodyHandlers.ofString()).statusCode()).isEqualTo(201);
        }
    }

    @AfterAll
    static void end() throws InterruptedException {
        if (server != null) {
            server.destroy();
            if (!server.waitFor(10, TimeUnit.SECONDS)) {
                server.destroyForcibly();
            }
        }
    }

    /** Returns a token that ends after so long. */
    private static String token(Duration life) {
        long now = Instant.now().getEpochSecond();
        String claims = "{\"aud\": \"https://storage.azure.com\", \"iss\": \"https://sts.windows.net/x/\", "
                + "\"iat\": %1$d, \"nbf\": %1$d, \"exp\": %2$d}".formatted(now - 7200, now + life.toSeconds());
        return encoded("{\"alg\": \"HS256\", \"typ\": \"JWT\"}") + "." + encoded(claims) + "." + encoded("hush");
    }

    private static String encoded(String text) {
        return Base64.getUrlEncoder().withoutPadding().encodeToString(text.getBytes(StandardCharsets.UTF_8));
    }

    private static SourcePath path(String name, String token) {
        TokenCredential credential = request -> {
            assertThat(request.getScopes()).containsExactly("https://storage.azure.com/.default");
            return Mono.just(new AccessToken(token, Instant.now().plusSeconds(3600).atOffset(ZoneOffset.UTC)));
        };
        AzureOptions options = AzureOptions.fromEnvironment(Map.of("AZURE_STORAGE_ACCOUNT", ACCOUNT))
                .withTokens(EntraTokens.of(credential)).withEndpoint(endpoint)
                .withHttp(HttpOptions.DEFAULTS.withCertificates(folder.resolve("ca.pem")));
        return AzureFiles.path(URI.create("az://%s/models/%s".formatted(ACCOUNT, name)), options);
    }

    /** Zeros. */
    private record Content(long size) implements RangeSource {
        @Override
        public String identity() {
            return "zeros";
        }

        @Override
        public long read(long offset, MemorySegment target, Cancellation cancellation) {
            return target.fill((byte) 0).byteSize();
        }
    }

    @Test
    void tokenWritesListsReadsAndDeletes() throws Exception {
        SourcePath root = path("", token(Duration.ofHours(1)));
        for (int size : new int[]{1000, (16 << 20) + 1}) { // in one request, and in blocks
            SourcePath blob = (SourcePath) root.resolve("folder/" + size);
            blob.create(new Content(size));
            assertThat(Files.size(blob)).isEqualTo(size);
            assertThat(Arrays.equals(Files.readAllBytes(blob), new byte[size])).isTrue();
        }
        SourcePath one = (SourcePath) root.resolve("folder/1000");
        assertThat(Files.list(root.resolve("folder"))).contains(one);
        assertThatThrownBy(() -> one.create(new Content(10)))
                .satisfies(e -> assertThat(((CuFileException) e).errno()).hasValue(Errno.EEXIST));
        Files.delete(one);
        assertThat(path("folder/1000", token(Duration.ofHours(1)))).doesNotExist();
    }

    @Test
    void tokenThatHasExpiredIsRefusedInOneLine() {
        String expired = token(Duration.ofHours(-1));
        assertThatThrownBy(() -> Files.size(path("folder/x", expired))).isInstanceOf(CuFileException.class)
                .satisfies(e -> assertThat(((CuFileException) e).errno()).hasValue(Errno.EACCES))
                .hasMessageNotContaining(expired).hasMessageNotContaining("\n");
    }
}
