package io.gds4j.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.error.CuFileException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Uploads in parts by https have checksums that the server compares, or digests if it does not say that it compares them. */
@Tag("slow")
@Timeout(60)
class S3ChecksumTest {
    private static final int PARTS = 2;
    private static final byte[] BYTES = RangeServer.random(S3Server.PART + 70_001);

    @TempDir
    static Path folder;

    private final List<String> digests = new CopyOnWriteArrayList<>();

    private static Path upload(S3Server server, Optional<SSLContext> tls) throws Exception {
        HttpOptions http = HttpOptions.DEFAULTS.withPatience(Duration.ofSeconds(20), 3, Duration.ofMillis(1));
        Path target = S3Files.path(URI.create("s3://models/a"),
                server.options().withHttp(tls.map(http::withTls).orElse(http)));
        S3Files.upload(Files.write(folder.resolve("file"), BYTES), target);
        return target;
    }

    private void keepDigests(S3Server server, int refusal) {
        server.on((exchange, request) -> {
            String query = String.valueOf(exchange.getRequestURI().getQuery());
            if (query.contains("partNumber")) {
                digests.add(exchange.getRequestHeaders().getFirst("x-amz-content-sha256"));
            }
            boolean refused = refusal > 0 && exchange.getRequestHeaders().containsKey("x-amz-checksum-algorithm");
            if (refused) {
                S3Server.answer(exchange, refusal, "<Error><Code>NotImplemented</Code></Error>");
            }
            return refused;
        });
    }

    @ParameterizedTest
    @CsvSource({"CRC32C, 0, true", "SHA1, 0, false", "'', 0, false", "CRC32C, 501, false", "CRC32C, 400, false"})
    void partsHaveChecksumsWhereTheServerComparesThem(String algorithm, int refusal, boolean isCompared)
            throws Exception {
        SSLContext tls = TlsTest.context(folder);
        try (S3Server server = new S3Server(Optional.of(tls))) {
            server.checksums = algorithm;
            server.comparesParts = isCompared;
            keepDigests(server, refusal);
            Path target = upload(server, Optional.of(tls));
            assertThat(Arrays.equals(server.objects.get("a"), BYTES)).isTrue();
            assertThat(digests).hasSize(PARTS).allMatch(digest -> digest.equals("UNSIGNED-PAYLOAD") == isCompared);
            assertThat(Files.size(target)).isEqualTo(BYTES.length);
        }
    }

    @Test
    void partsHaveDigestsWithoutTls() throws Exception {
        try (S3Server server = new S3Server()) {
            server.checksums = "CRC32C";
            keepDigests(server, 0);
            upload(server, Optional.empty());
            assertThat(Arrays.equals(server.objects.get("a"), BYTES)).isTrue();
            assertThat(digests).hasSize(PARTS).doesNotContain("UNSIGNED-PAYLOAD");
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {400, 403, 501})
    void serverThatRefusesUploadsIsNotAskedForEver(int status) throws Exception {
        SSLContext tls = TlsTest.context(folder);
        try (S3Server server = new S3Server(Optional.of(tls))) {
            server.on((exchange, request) -> {
                S3Server.answer(exchange, status, "<Error><Code>Refused</Code></Error>");
                return true;
            });
            CuFileException e = catchThrowableOfType(
                    CuFileException.class, () -> upload(server, Optional.of(tls)));
            assertThat(e.detail()).contains("status " + status, "Refused");
            assertThat(server.requests).hasSize(status == 403 ? 1 : 2);
        }
    }

    /** The server receives other bytes than the client sent. */
    @Test
    void partWithAnotherChecksumFailsTheUpload() throws Exception {
        SSLContext tls = TlsTest.context(folder);
        try (S3Server server = new S3Server(Optional.of(tls))) {
            server.checksums = "CRC32C";
            server.comparesParts = true;
            server.on((exchange, request) -> {
                if (exchange.getRequestHeaders().containsKey("x-amz-checksum-crc32c")) {
                    exchange.getResponseHeaders().set("x-amz-checksum-crc32c", "AAAAAA==");
                }
                return false;
            });
            CuFileException e = catchThrowableOfType(CuFileException.class, () -> upload(server, Optional.of(tls)));
            assertThat(e.detail()).contains("the server has the checksum 'AAAAAA==' instead of ");
            assertThat(server.objects).isEmpty();
            assertThat(server.uploads).isEmpty();
        }
    }
}
