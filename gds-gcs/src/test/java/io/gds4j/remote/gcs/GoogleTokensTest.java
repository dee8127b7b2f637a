package io.gds4j.remote.gcs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.auth.oauth2.AccessToken;
import com.google.auth.oauth2.GoogleCredentials;
import com.google.auth.oauth2.UserCredentials;
import com.sun.net.httpserver.HttpServer;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.remote.GcsFiles;
import io.gds4j.remote.GcsOptions;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPairGenerator;
import java.time.Instant;
import java.util.Base64;
import java.util.Date;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What Google's auth library gets from a token server on loopback reaches gds-remote. */
class GoogleTokensTest {
    @TempDir
    Path folder;

    private final List<String> asked = new CopyOnWriteArrayList<>();
    private volatile int status = 200;
    private volatile int seconds = 3600;
    private HttpServer server;

    @BeforeEach
    void start() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/token", exchange -> {
            try (exchange) {
                asked.add(URLDecoder.decode(new String(
                        exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8), StandardCharsets.UTF_8));
                byte[] answer = (status == 200
                        ? "{\"access_token\": \"token-%s\", \"expires_in\": %s, \"token_type\": \"Bearer\"}"
                                .formatted(asked.size(), seconds)
                        : "{\"error\": \"invalid_grant\", \"error_description\": \"hush\"}")
                        .getBytes(StandardCharsets.UTF_8);
                exchange.getResponseHeaders().set("Content-Type", "application/json");
                exchange.sendResponseHeaders(status, answer.length);
                exchange.getResponseBody().write(answer);
            }
        });
        server.createContext("/models/x", exchange -> {
            try (exchange) {
                boolean knows = "Bearer token-1".equals(exchange.getRequestHeaders().getFirst("Authorization"));
                exchange.getResponseHeaders().set("Content-Range", "bytes 0-2/3");
                exchange.sendResponseHeaders(knows ? 206 : 403, knows ? 3 : -1);
                if (knows) {
                    exchange.getResponseBody().write(new byte[3]);
                }
            }
        });
        server.start();
    }

    @AfterEach
    void stop() {
        server.stop(0);
    }

    private URI uri(String path) {
        return URI.create("http://127.0.0.1:%s%s".formatted(server.getAddress().getPort(), path));
    }

    private GcsOptions options(String json) throws IOException {
        Path file = Files.writeString(folder.resolve("key.json"), json);
        return GcsOptions.fromEnvironment(Map.of("GOOGLE_APPLICATION_CREDENTIALS", file.toString()))
                .withEndpoint(uri(""));
    }

    private String serviceAccount() throws Exception {
        KeyPairGenerator keys = KeyPairGenerator.getInstance("RSA");
        keys.initialize(2048);
        String key = Base64.getEncoder().encodeToString(keys.generateKeyPair().getPrivate().getEncoded());
        return """
                {"type": "service_account", "client_id": "1", "client_email": "reader@example.com",
                 "private_key_id": "2", "token_uri": "%s",
                 "private_key": "-----BEGIN PRIVATE KEY-----\\n%s\\n-----END PRIVATE KEY-----\\n"}"""
                .formatted(uri("/token"), key);
    }

    private static long size(GcsOptions options) throws IOException {
        return Files.size(GcsFiles.path(URI.create("gs://models/x"), options));
    }

    @Test
    void keyOfAServiceAccountBecomesATokenForStorage() throws Exception {
        GcsOptions options = options(serviceAccount());
        assertThat(asked).isEmpty();
        assertThat(size(options)).isEqualTo(3);
        assertThat(asked).singleElement().asString()
                .startsWith("grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer");
        String claims = new String(Base64.getUrlDecoder().decode(
                asked.getFirst().replaceFirst(".*assertion=[^.]*\\.([^.]*)\\..*", "$1")), StandardCharsets.UTF_8);
        assertThat(claims).contains("reader@example.com", "auth/devstorage.read_write");
        assertThat(size(options)).isEqualTo(3);
        assertThat(asked).as("the token is kept").hasSize(1);
    }

    @Test
    void tokenOfAUserIsAskedForAgainBeforeItExpires() {
        seconds = 1;
        var tokens = GoogleTokens.of(UserCredentials.newBuilder().setClientId("1").setClientSecret("secret-hush")
                .setRefreshToken("refresh-hush").setTokenServerUri(uri("/token")).build());
        assertThat(tokens.get()).isEqualTo("token-1");
        assertThat(tokens.get()).isEqualTo("token-2");
        assertThat(asked).allSatisfy(form -> assertThat(form).contains("refresh_token=refresh-hush"));
        assertThat(tokens).hasToString("GoogleTokens[hidden]");
    }

    @Test
    void refusedCredentialsAreOneLineWithoutSecrets() {
        status = 400;
        var tokens = GoogleTokens.of(UserCredentials.newBuilder().setClientId("1").setClientSecret("secret-hush")
                .setRefreshToken("refresh-hush").setTokenServerUri(uri("/token")).build());
        assertThatThrownBy(tokens::get).isInstanceOf(CuFileException.class)
                .satisfies(e -> assertThat(((CuFileException) e).errno()).hasValue(Errno.EACCES))
                .hasMessageContaining("Google's auth library gets no token").hasMessageNotContaining("hush")
                .hasMessageNotContaining("\n").hasNoCause();
    }

    @Test
    void tokensOfTheSameCredentialsAreEqual() {
        AccessToken token = new AccessToken("t", Date.from(Instant.parse("2999-01-01T00:00:00Z")));
        GoogleCredentials one = GoogleCredentials.create(token);
        assertThat(GoogleTokens.of(one)).isEqualTo(GoogleTokens.of(one))
                .isNotEqualTo(GoogleTokens.of(GoogleCredentials.create(token)));
        assertThat(GoogleTokens.of(one).get()).isEqualTo("t");
    }

    @Test
    void fileOfAUserIsRead() throws IOException {
        options("{\"type\": \"authorized_user\", \"client_id\": \"1\", \"client_secret\": \"s\", \"refresh_token\": \"r\"}");
    }

    @Test
    void credentialsThatMayAskElsewhereAreRefused() {
        assertThatThrownBy(() -> options("""
                {"type": "external_account", "audience": "a", "subject_token_type": "urn:ietf:params:aws:token-type:aws4_request",
                 "token_url": "https://sts.googleapis.com/v1/token", "credential_source": {"environment_id": "aws1",
                 "region_url": "http://127.0.0.1/hush", "url": "http://127.0.0.1/hush",
                 "regional_cred_verification_url": "http://127.0.0.1/hush"}}"""))
                .isInstanceOf(CuFileException.class).hasMessageContaining("key.json")
                .hasMessageNotContaining("\n").hasMessageNotContaining("hush");
        assertThatThrownBy(() -> options("{hush")).isInstanceOf(CuFileException.class)
                .hasMessageContaining("key.json gives no credentials").hasMessageNotContaining("\n");
        assertThat(asked).isEmpty();
    }
}
