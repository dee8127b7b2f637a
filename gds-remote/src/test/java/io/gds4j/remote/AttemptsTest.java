package io.gds4j.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.sun.net.httpserver.HttpExchange;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.source.Cancellation;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Every request over HTTP and S3 follows the same rules: what is repeated, when it ends, and what the message says. */
@Tag("slow")
@Timeout(60)
class AttemptsTest {
    private static final byte[] BYTES = RangeServer.random(300_001);
    private static final HttpOptions OPTIONS = HttpOptions.DEFAULTS.withRequests(64 << 10, 8)
            .withPatience(Duration.ofSeconds(20), 3, Duration.ofMillis(1));
    private static final HttpOptions HASTY = OPTIONS.withPatience(Duration.ofMillis(150), 6, Duration.ofMillis(1));

    @TempDir
    Path folder;

    private final RangeServer server = new RangeServer();
    private final URI uri = server.put("/object.bin", BYTES);
    private final S3Server s3 = new S3Server();
    private final CountDownLatch end = new CountDownLatch(1);

    @AfterEach
    void stop() {
        end.countDown();
        server.close();
        s3.close();
    }

    private Path path(String key, HttpOptions options) {
        return S3Files.path(URI.create("s3://models/" + key), s3.options().withHttp(options));
    }

    private Path file(int size) throws IOException {
        return Files.write(folder.resolve("file"), RangeServer.random(size));
    }

    /** Opens an object, lists a folder, uploads a small and a large file. */
    private List<ThrowingCallable> requests(HttpOptions options) throws IOException {
        Path small = Files.write(folder.resolve("small"), new byte[10]);
        Path large = Files.write(folder.resolve("large"), new byte[17 << 16]);
        return List.of(
                () -> Files.size(path("a", options)), () -> Files.list(path("m/", options)),
                () -> S3Files.upload(small, path("b", options)), () -> S3Files.upload(large, path("c", options)));
    }

    private boolean stalls() {
        try {
            end.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return true;
    }

    private static void answer(HttpExchange exchange, int status, String text) throws IOException {
        S3Server.answer(exchange, status, text);
    }

    @Test
    void pauseThatTheServerAsksForIsObeyedByEveryRequest() throws IOException {
        s3.on((exchange, request) -> {
            exchange.getResponseHeaders().set("Retry-After", "3600");
            answer(exchange, 503, "");
            return true;
        });
        for (ThrowingCallable each : requests(OPTIONS)) {
            int before = s3.requests.size();
            CuFileException e = catchThrowableOfType(CuFileException.class, each);
            assertThat(e).hasMessageContaining("asks to wait 3600 s").hasMessageContaining("status 503");
            assertThat(e.errno()).hasValue(Errno.ETIMEDOUT);
            // The upload that may have arrived is looked for once.
            assertThat(s3.requests).hasSizeLessThanOrEqualTo(before + 2);
        }
    }

    @Test
    void firstRequestWaitsAsLongAsTheServerAsks() throws Exception {
        long begun = System.nanoTime();
        server.on((exchange, request) -> {
            exchange.getResponseHeaders().set("Retry-After", "1");
            if (request == 1) {
                exchange.sendResponseHeaders(429, -1);
            }
            return request == 1;
        });
        assertThat(HttpSource.open(uri, OPTIONS).size()).isEqualTo(BYTES.length);
        assertThat(Duration.ofNanos(System.nanoTime() - begun)).isGreaterThanOrEqualTo(Duration.ofMillis(999));
    }

    /** A list that is not answered took six times as long as an object, and an upload more. */
    @Test
    void serverThatNeverAnswersEndsEveryRequestAfterOneTime() throws IOException {
        s3.on((exchange, request) -> stalls());
        for (ThrowingCallable each : requests(HASTY)) {
            int before = s3.requests.size();
            CuFileException e = catchThrowableOfType(CuFileException.class, each);
            assertThat(e).hasMessageContaining("no progress for 0.15s");
            assertThat(e.errno()).hasValue(Errno.ETIMEDOUT);
            // The upload that may have arrived is looked for once.
            assertThat(s3.requests).hasSizeLessThanOrEqualTo(before + 2);
        }
    }

    @Test
    void partsThatCannotBeTakenAwayAreNamed() throws IOException {
        Path large = file(17 << 16);
        s3.on((exchange, request) -> exchange.getRequestMethod().equals("POST") ? false : stalls());
        CuFileException e = catchThrowableOfType(
                CuFileException.class, () -> S3Files.upload(large, path("deep/key", HASTY)));
        assertThat(e).hasMessageContaining("no progress")
                .hasMessageContaining("parts stay at the server: bucket models, key deep/key, upload id id/1+&");
        assertThat(e.getMessage()).doesNotContain("\n");
    }

    /** A server that stalls must not keep the connection of a read that nobody waits for. */
    @Test
    void cancelledReadClosesItsConnection() throws Exception {
        try (ServerSocket stalls = new ServerSocket(0, 0, InetAddress.getLoopbackAddress())) {
            CountDownLatch asked = new CountDownLatch(1);
            CountDownLatch closed = new CountDownLatch(1);
            Thread.ofVirtual().start(() -> {
                try (Socket client = stalls.accept()) {
                    byte[] request = new byte[8192];
                    client.getInputStream().read(request);
                    client.getOutputStream().write(("HTTP/1.1 206 x\r\nContent-Length: 65536\r\n"
                            + "Content-Range: bytes 0-65535/300000\r\n\r\n").getBytes(StandardCharsets.US_ASCII));
                    client.getOutputStream().write(new byte[65536]);
                    client.getInputStream().read(request);
                    asked.countDown();
                    while (client.getInputStream().read(request) >= 0) {
                        Thread.onSpinWait();
                    }
                } catch (IOException e) {
                    // A reset is an end, too.
                } finally {
                    closed.countDown();
                }
            });
            HttpSource source = HttpSource.open(
                    URI.create("http://127.0.0.1:" + stalls.getLocalPort() + "/x"), OPTIONS);
            assertThatThrownBy(() -> source.read(
                    100_000, MemorySegment.ofArray(new byte[10]), () -> asked.getCount() == 0))
                    .isInstanceOf(InterruptedException.class);
            assertThat(closed.await(30, TimeUnit.SECONDS)).isTrue();
        }
    }

    @Test
    void limitOfRedirectsHoldsForLaterRanges() {
        HttpSource source = HttpSource.open(uri, OPTIONS.withRedirects(0));
        HttpSource follows = HttpSource.open(uri, OPTIONS);
        AtomicInteger hops = new AtomicInteger();
        server.on((exchange, request) -> {
            exchange.getResponseHeaders().set("Location", "/object.bin?" + hops.incrementAndGet());
            exchange.sendResponseHeaders(302, -1);
            return true;
        });
        byte[] into = new byte[10];
        assertThatThrownBy(() -> source.read(100_000, MemorySegment.ofArray(into), Cancellation.NEVER))
                .hasMessageContaining("more than 0 redirects");
        assertThat(hops).hasValue(1);
        assertThatThrownBy(() -> follows.read(100_000, MemorySegment.ofArray(into), Cancellation.NEVER))
                .hasMessageContaining("more than 5 redirects");
    }

    @ParameterizedTest
    @CsvSource({"0, true", "0, false", "120, true", "120, false", "65536, true", "65537, true", "65537, false"})
    void smallObjectThatComesWholeIsRead(int size, boolean withLength) throws Exception {
        server.on((exchange, request) -> {
            exchange.sendResponseHeaders(200, !withLength ? 0 : size == 0 ? -1 : size);
            exchange.getResponseBody().write(BYTES, 0, size);
            return true;
        });
        if (size > 65536) {
            assertThatThrownBy(() -> HttpSource.open(uri, OPTIONS)).hasMessageContaining("no ranges");
            return;
        }
        byte[] into = new byte[size + 10];
        assertThat(HttpSource.open(uri, OPTIONS).read(0, MemorySegment.ofArray(into), Cancellation.NEVER))
                .isEqualTo(size);
        assertThat(Arrays.mismatch(into, 0, size, BYTES, 0, size)).isEqualTo(-1);
    }

    @ParameterizedTest
    @CsvSource({"aws-chunked, ''", "'', ''", "'identity, aws-chunked', ''", "gzip, encoded: gzip",
            "'aws-chunked,br', encoded: br"})
    void encodingThatEncodesNothingIsNone(String encoding, String refusal) throws Exception {
        server.on((exchange, request) -> {
            exchange.getResponseHeaders().set("Content-Encoding", encoding);
            return false;
        });
        byte[] into = new byte[BYTES.length];
        if (refusal.isEmpty()) {
            HttpSource.open(uri, OPTIONS).read(0, MemorySegment.ofArray(into), Cancellation.NEVER);
            assertThat(into).isEqualTo(BYTES);
        } else {
            assertThatThrownBy(() -> HttpSource.open(uri, OPTIONS)).hasMessageContaining(refusal);
        }
    }

    @Test
    void placeWithSpacesAndLettersIsFollowed() {
        server.on((exchange, request) -> {
            String path = exchange.getRequestURI().getRawPath();
            if (path.equals("/object.bin")) {
                exchange.getResponseHeaders().set("Location", "/a%20b c");
                exchange.sendResponseHeaders(302, -1);
            } else if (path.equals("/a%20b%20c")) {
                server.send(exchange, BYTES, 0, 65535, 65536);
            }
            return true;
        });
        assertThat(HttpSource.open(uri, OPTIONS).size()).isEqualTo(BYTES.length);
    }

    @Test
    void otherRangeIsNoChangeOfTheObject() {
        HttpSource source = HttpSource.open(uri, OPTIONS);
        server.on((exchange, request) -> {
            server.send(exchange, BYTES, 100_001, 100_005, 5);
            return true;
        });
        byte[] into = new byte[10];
        CuFileException e = catchThrowableOfType(
                CuFileException.class,
                () -> source.read(100_000, MemorySegment.ofArray(into), Cancellation.NEVER));
        assertThat(e.errno()).hasValue(Errno.EIO);
        assertThat(e).hasMessageContaining("Content-Range is 'bytes 100001-100005/300001'");
    }

    @Test
    void unknownSizeIsNamed() {
        server.on((exchange, request) -> {
            exchange.getResponseHeaders().set("Content-Range", "bytes 0-65535/*");
            exchange.sendResponseHeaders(206, 65536);
            exchange.getResponseBody().write(BYTES, 0, 65536);
            return true;
        });
        assertThatThrownBy(() -> HttpSource.open(uri, OPTIONS)).hasMessageContaining("'bytes 0-65535/*'");
    }

    @ParameterizedTest
    @CsvSource({
            "301, '', true", "307, '', true",
            "400, <Code>AuthorizationHeaderMalformed</Code><Region>eu-west-9</Region>, false",
            "400, <Code>AuthorizationHeaderMalformed</Code>, true"})
    void otherRegionIsNamedForObjectsListsAndUploads(int status, String body, boolean header) throws IOException {
        s3.on((exchange, request) -> {
            if (header) {
                exchange.getResponseHeaders().set("x-amz-bucket-region", "eu-west-9");
            }
            answer(exchange, status, "<Error>" + body + "</Error>");
            return true;
        });
        for (ThrowingCallable each : requests(OPTIONS)) {
            assertThatThrownBy(each).isInstanceOf(CuFileException.class)
                    .hasMessageContaining("the bucket is in region eu-west-9: set AWS_REGION")
                    .hasMessageContaining("" + status).hasMessageNotContaining("Location");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"SignatureDoesNotMatch", "InvalidAccessKeyId", "RequestTimeTooSkewed"})
    void codeOfTheServerReachesTheUser(String code) throws Exception {
        s3.objects.put("a", BYTES);
        Path known = path("a", OPTIONS);
        Files.size(known);
        s3.on((exchange, request) -> {
            answer(exchange, 403, "<Error><Code>" + code + "</Code></Error>");
            return true;
        });
        for (ThrowingCallable each : requests(OPTIONS)) {
            assertThatThrownBy(each).isInstanceOf(CuFileException.class).hasMessageContaining(code);
        }
        assertThatThrownBy(() -> Files.readAllBytes(known)).hasMessageContaining(code);
        assertThat(code.startsWith("RequestTime") ? "clock" : "").satisfies(
                text -> assertThatThrownBy(() -> Files.size(path("b", OPTIONS))).hasMessageContaining(text));
    }

    /** Keys that may not list a bucket get 403 for what is not there; a wrong clock or secret is something else. */
    @ParameterizedTest
    @CsvSource({"AccessDenied, true", "'', true", "SignatureDoesNotMatch, false", "ExpiredToken, false"})
    void objectThatMayNotBeReadIsNoFileForThoseWhoOnlyLook(String code, boolean quiet) {
        s3.on((exchange, request) -> {
            answer(exchange, 403, code.isEmpty() ? "" : "<Error><Code>" + code + "</Code></Error>");
            return true;
        });
        Path path = path("config.json", OPTIONS);
        if (quiet) {
            assertThat(Files.isRegularFile(path)).isFalse();
            assertThat(Files.isReadable(path)).isFalse();
        } else {
            assertThatThrownBy(() -> Files.isRegularFile(path)).hasMessageContaining(code);
        }
        assertThatThrownBy(() -> Files.exists(path)).isInstanceOf(CuFileException.class).hasMessageContaining("403");
        assertThatThrownBy(() -> Files.size(path)).isInstanceOf(CuFileException.class).hasMessageContaining("403");
    }

    /** As versitygw answers. */
    @ParameterizedTest
    @CsvSource({"404, XAdminUserNotFound", "404, InvalidAccessKeyId", "400, ExpiredToken"})
    void unknownKeyIsNoMissingObjectWhateverTheStatus(int status, String code) {
        s3.on((exchange, request) -> {
            answer(exchange, status, "<Error><Code>" + code + "</Code></Error>");
            return true;
        });
        CuFileException e = catchThrowableOfType(CuFileException.class, () -> Files.size(path("a", OPTIONS)));
        assertThat(e.errno()).hasValue(Errno.EACCES);
        assertThat(e).hasMessageContaining("status %d: the server refuses access, %s".formatted(status, code));
    }

    @Test
    void codeThatPassesIsRepeatedWhateverTheStatus() throws IOException {
        s3.objects.put("m/a", BYTES);
        s3.on((exchange, request) -> {
            if (request % 2 == 1) {
                answer(exchange, 400, "<Error><Code>RequestTimeout</Code></Error>");
            }
            return request % 2 == 1;
        });
        assertThat(Files.list(path("m/", OPTIONS))).hasSize(1);
        assertThat(Files.readAllBytes(path("m/a", OPTIONS.withRequests(1 << 20, 1)))).isEqualTo(BYTES);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void uploadWhoseAnswerIsLostIsDone(boolean large) throws IOException {
        int size = large ? 17 << 16 : 1000;
        AtomicBoolean lost = new AtomicBoolean();
        s3.on((exchange, request) -> {
            String query = String.valueOf(exchange.getRequestURI().getQuery());
            boolean appears = exchange.getRequestMethod().equals(large ? "POST" : "PUT") && !query.contains("uploads");
            if (appears && lost.compareAndSet(false, true)) {
                s3.serveUnanswered(exchange);
                return true;
            }
            return false;
        });
        S3Files.uploadNew(file(size), path("x", OPTIONS));
        assertThat(lost).isTrue();
        assertThat(Arrays.mismatch(s3.objects.get("x"), RangeServer.random(size))).isEqualTo(-1);
    }

    @ParameterizedTest
    @ValueSource(ints = {10, 17 << 16})
    void newObjectReplacesNoOther(int size) throws IOException {
        Path file = file(size);
        s3.objects.put("x", BYTES);
        CuFileException e = catchThrowableOfType(
                CuFileException.class, () -> S3Files.uploadNew(file, path("x", OPTIONS)));
        assertThat(e).hasMessageContaining("models/x").hasMessageContaining("already");
        assertThat(e.errno()).hasValue(Errno.EEXIST);
        assertThat(s3.objects.get("x")).isEqualTo(BYTES);
        assertThat(s3.uploads).isEmpty();
        Path target = path("x", OPTIONS);
        S3Files.delete(target);
        assertThat(target).doesNotExist();
        S3Files.uploadNew(file, target);
        assertThat(Files.size(target)).isEqualTo(size);
    }

    /** A server of plain HTTP does not become one of TLS. */
    @Test
    void plainPortIsAskedOnce() throws IOException {
        AtomicInteger connections = new AtomicInteger();
        try (ServerSocket plain = new ServerSocket(0, 0, InetAddress.getLoopbackAddress())) {
            Thread.ofVirtual().start(() -> {
                while (!plain.isClosed()) {
                    try (Socket client = plain.accept()) {
                        connections.incrementAndGet();
                        client.getInputStream().read(new byte[4096]);
                        client.getOutputStream().write("HTTP/1.1 400 Bad Request\r\n\r\n".getBytes(
                                StandardCharsets.US_ASCII));
                        client.shutdownOutput();
                        client.getInputStream().readAllBytes(); // bytes left unread would make the close a reset
                    } catch (IOException e) {
                        // the next one, or the server is closed
                    }
                }
            });
            URI tls = URI.create("https://127.0.0.1:" + plain.getLocalPort() + "/x");
            assertThatThrownBy(() -> HttpSource.open(tls, OPTIONS)).isInstanceOf(CuFileException.class)
                    .hasMessageContaining("SSL").hasMessageNotContaining("attempts");
        }
        assertThat(connections).hasValue(1);
    }

    @Test
    void proxyThatWantsCredentialsOrIsDownIsNamed() {
        server.on((exchange, request) -> {
            exchange.sendResponseHeaders(407, -1);
            return true;
        });
        HttpOptions proxied = server.asProxy(OPTIONS);
        URI beyond = URI.create("http://store.invalid/x");
        assertThatThrownBy(() -> HttpSource.open(beyond, proxied)).hasMessageContaining("407")
                .hasMessageContaining("proxy");
        assertThat(server.requests()).isEqualTo(1);
        server.close();
        assertThatThrownBy(() -> HttpSource.open(beyond, proxied))
                .hasMessageContaining("the proxy 127.0.0.1:" + uri.getPort() + " does not answer");
    }

    @Test
    void unknownHostIsNamed() {
        assertThatThrownBy(() -> HttpSource.open(URI.create("http://%s/x".formatted(RangeServer.UNKNOWN)), OPTIONS))
                .hasMessageContaining(RangeServer.UNKNOWN).hasMessageContaining("the host is unknown");
    }

    @Test
    void copyThatHasNoRoomIsNotBegun() {
        server.on((exchange, request) -> {
            exchange.sendResponseHeaders(200, Long.MAX_VALUE / 2);
            exchange.getResponseBody().write(BYTES);
            return true;
        });
        CuFileException e = catchThrowableOfType(
                CuFileException.class, () -> HttpSource.open(uri, OPTIONS.withSequential(true)));
        assertThat(e.errno()).hasValue(Errno.ENOSPC);
        assertThat(e).hasMessageContaining(System.getProperty("java.io.tmpdir"));
        assertThat(server.requests()).isEqualTo(1);
    }

    /** AWS refuses headers of its own that are not signed. */
    @Test
    void headersOfAwsAreSigned() throws IOException {
        s3.objects.put("a", BYTES);
        AtomicBoolean signed = new AtomicBoolean();
        s3.on((exchange, request) -> {
            signed.set(String.valueOf(exchange.getRequestHeaders().getFirst("Authorization"))
                    .contains("x-amz-request-payer"));
            return false;
        });
        assertThat(Files.size(path("a", OPTIONS.withHeader("X-Amz-Request-Payer", "requester"))))
                .isEqualTo(BYTES.length);
        assertThat(signed).isTrue();
    }
}
