package io.gds4j.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.error.CuFileException;
import java.io.InputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the environment says of requests to S3: certificates in PEM, who pays, and buckets that want other requests. */
@Timeout(60)
@Tag("slow")
class CertificatesTest {
    private static final byte[] BYTES = RangeServer.random(200_000);
    private static final HttpOptions HASTY = HttpOptions.DEFAULTS
            .withPatience(Duration.ofSeconds(20), 3, Duration.ofMillis(1));

    @TempDir
    static Path folder;

    private static String right = "";
    private static String other = "";
    private static S3Server server;

    private final Map<String, String> variables = new HashMap<>();

    @BeforeAll
    static void start() throws Exception {
        Path elsewhere = Files.createDirectory(folder.resolve("elsewhere"));
        server = new S3Server(Optional.of(TlsTest.context(folder)));
        TlsTest.context(elsewhere);
        right = certificate(folder);
        other = certificate(elsewhere);
        server.objects.put("a", BYTES);
    }

    @AfterAll
    static void stop() {
        server.close();
    }

    private static String certificate(Path keys) throws Exception {
        KeyStore store = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(keys.resolve("keys"))) {
            store.load(in, "changeit".toCharArray());
        }
        return "# of a server\n-----BEGIN CERTIFICATE-----\r\n%s\n-----END CERTIFICATE-----\n".formatted(
                Base64.getMimeEncoder().encodeToString(store.getCertificate("key").getEncoded()));
    }

    @BeforeEach
    void setVariables() {
        server.requests.clear();
        server.on(null);
        variables.putAll(Map.of("AWS_ENDPOINT_URL", server.endpoint().toString(), "AWS_ACCESS_KEY_ID",
                S3Server.KEYS.accessKey(), "AWS_SECRET_ACCESS_KEY", S3Server.KEYS.secretKey(), "HOME",
                folder.toString()));
    }

    private Path object() {
        S3Options options = S3Options.fromEnvironment(variables).withHttp(HASTY);
        return S3Files.path(URI.create("s3://models/a"), options);
    }

    private static Path bundle(String text) throws Exception {
        return Files.writeString(folder.resolve("bundle.pem"), text, StandardCharsets.ISO_8859_1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"variable", "profile"})
    void serverOfACertificateOfTheBundleIsTrusted(String place) throws Exception {
        String key = "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n";
        Path bundle = bundle("\u00fc -- words\n" + key + other + right);
        if (place.equals("variable")) {
            variables.put("AWS_CA_BUNDLE", bundle.toString());
        } else {
            Path config = Files.writeString(folder.resolve("config"), "[default]\nca_bundle = ~/bundle.pem\n");
            variables.put("AWS_CONFIG_FILE", config.toString());
        }
        assertThat(Files.readAllBytes(object())).isEqualTo(BYTES);
        bundle(other);
        assertThatThrownBy(() -> Files.readAllBytes(object())).isInstanceOf(CuFileException.class)
                .hasMessageContaining("the server's certificate is refused")
                .hasMessageContaining("those of %s are trusted".formatted(bundle)).hasMessageNotContaining("attempts");
    }

    @Test
    void certificatesOfTheProgramWin() throws Exception {
        variables.put("AWS_CA_BUNDLE", bundle(other).toString());
        S3Options options = S3Options.fromEnvironment(variables)
                .withHttp(HASTY.withTls(TlsTest.context(folder)));
        assertThat(Files.readAllBytes(S3Files.path(URI.create("s3://models/a"), options))).isEqualTo(BYTES);
        Path pem = Files.writeString(folder.resolve("right.pem"), right);
        assertThat(options.withHttp(HASTY.withCertificates(pem)).http().certificates()).contains(pem);
    }

    @ParameterizedTest
    @CsvSource({"none.pem, -, there is no such file", ".., -, Is a directory",
            "x.pem, '', it has no certificate in PEM",
            "x.pem, -----BEGIN CERTIFICATE-----MIIB-----END CERTIFICATE-----, its certificate 1 is not valid",
            "x.pem, -----BEGIN CERTIFICATE-----M-----END CERTIFICATE-----, its certificate 1 is not valid"})
    void bundleThatCannotBeReadIsOneLine(String name, String text, String why) throws Exception {
        Path file = folder.resolve(name);
        if (!text.equals("-")) {
            Files.writeString(file, text);
        }
        variables.put("AWS_CA_BUNDLE", file.toString());
        assertThatThrownBy(() -> Files.readAllBytes(object())).isInstanceOf(CuFileException.class)
                .hasMessageContaining("the certificates of %s cannot be read: %s".formatted(file, why))
                .hasMessageNotContaining("attempts").hasMessageNotContaining("\n");
        assertThat(server.requests).isEmpty();
    }

    @Test
    void requesterPaysForEachRequestIfTheEnvironmentSaysSo() throws Exception {
        variables.put("AWS_CA_BUNDLE", bundle(right).toString());
        variables.put("AWS_REQUEST_PAYER", "requester");
        server.on((exchange, request) -> {
            boolean pays = "requester".equals(exchange.getRequestHeaders().getFirst("x-amz-request-payer"))
                    && exchange.getRequestHeaders().getFirst("Authorization").contains("x-amz-request-payer");
            if (!pays) {
                S3Server.answer(exchange, 403, "<Error><Code>AccessDenied</Code></Error>");
            }
            return !pays;
        });
        S3Files.upload(object(), object().resolveSibling("b"));
        assertThat(object().resolveSibling("b")).hasBinaryContent(BYTES);
        assertThat(object().getParent()).isDirectoryContaining(path -> path.endsWith("a"));
        variables.put("AWS_REQUEST_PAYER", "me");
        assertThatThrownBy(this::object).hasMessageContaining("AWS_REQUEST_PAYER");
    }

    @ParameterizedTest
    @CsvSource({"data--use1-az4--x-s3, S3 Express or Outposts", "point--usw2-az1--xa-s3, S3 Express or Outposts",
            "point-x--op-s3, S3 Express or Outposts",
            "arn:aws:s3:us-east-1:123456789012:accesspoint/point, an access point is named by its alias"})
    void bucketsThatWantOtherRequestsAreRefused(String bucket, String why) {
        variables.remove("AWS_ENDPOINT_URL");
        URI uri = URI.create("s3://%s/key".formatted(bucket));
        assertThatThrownBy(() -> S3Files.path(uri, S3Options.fromEnvironment(variables)))
                .isInstanceOf(CuFileException.class).hasMessageContaining(why).hasMessageNotContaining("\n");
    }

    @Test
    void aliasOfAnAccessPointIsABucket() {
        variables.remove("AWS_ENDPOINT_URL");
        String alias = "point-k3xc8grb5iojd6ng1gqcj4e9c1aqyuse1a-s3alias";
        assertThat(new S3Names(alias, S3Options.fromEnvironment(variables)).url("k", Map.of()))
                .hasToString("https://%s.s3.us-east-1.amazonaws.com/k".formatted(alias));
    }
}
