package io.gds4j.ffi.curl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.sun.net.httpserver.HttpServer;
import io.gds4j.internal.http.NativeHttp;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ProtocolException;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.cert.CertificateException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Requests by the system's libcurl, where it has one that fits. */
@Timeout(60)
class CurlTest {
    private final Curl curl = new Curl();
    private final Set<Integer> ports = ConcurrentHashMap.newKeySet();
    private HttpServer server;

    /** Keeps what arrives. */
    private static class Kept implements NativeHttp.Answer {
        final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        int status;
        Map<String, List<String>> headers = Map.of();
        long sent;
        volatile boolean abandoned;

        @Override
        public boolean isAbandoned() {
            return abandoned;
        }

        @Override
        public void sent(long count) {
            sent = count;
        }

        @Override
        public void head(int code, Map<String, List<String>> got) {
            status = code;
            headers = got;
        }

        @Override
        public boolean body(MemorySegment part) {
            bytes.writeBytes(part.toArray(ValueLayout.JAVA_BYTE));
            return true;
        }
    }

    @BeforeEach
    void start() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
        server.createContext("/", exchange -> {
            try (exchange) {
                ports.add(exchange.getRemoteAddress().getPort());
                byte[] got = exchange.getRequestBody().readAllBytes();
                String name = exchange.getRequestMethod() + " " + exchange.getRequestURI() + " "
                        + exchange.getRequestHeaders().get("x-name") + exchange.getRequestHeaders().get("Expect")
                        + exchange.getRequestHeaders().get("Content-Type") + got.length;
                exchange.getResponseHeaders().add("x-twice", "1");
                exchange.getResponseHeaders().add("X-Twice", "2");
                if (exchange.getRequestURI().getPath().equals("/endless")) {
                    exchange.getResponseHeaders().add("x-endless", "x".repeat(90_000));
                    for (int i = 0; i < 5; i++) {
                        exchange.getResponseHeaders().add("x-endless" + i, "x".repeat(90_000));
                    }
                }
                byte[] answer = name.getBytes(StandardCharsets.UTF_8);
                boolean isHead = exchange.getRequestMethod().equals("HEAD");
                exchange.sendResponseHeaders(206, isHead ? -1 : answer.length);
                if (!isHead) {
                    exchange.getResponseBody().write(answer);
                }
            }
        });
        server.start();
    }

    @AfterEach
    void stop() {
        server.stop(0);
    }

    private NativeHttp.Request request(String method, String path) {
        return new NativeHttp.Request(
                method, URI.create("http://127.0.0.1:" + server.getAddress().getPort() + path),
                Map.of("x-name", List.of("a b")), Optional.empty(), Optional.empty(),
                List.of(InetAddress.getLoopbackAddress()), Duration.ofSeconds(10), Optional.empty(), Map.of(), false);
    }

    @ParameterizedTest
    @CsvSource({"libcurl/7.88.1 OpenSSL/3.0.19 zlib/1.2.13, true", "libcurl/7.77.0 OpenSSL/1.1.1k, true",
            "libcurl/8.5.0 OpenSSL/3.0.13, true", "libcurl/8.9.0 GnuTLS/3.8 (OpenSSL/3.0.1), false",
            "libcurl/7.76.1 OpenSSL/3.0.7, false", "libcurl/7.88.1 GnuTLS/3.7.9, false",
            "libcurl/7.79.0 OpenSSL/1.0.2k, false", "'', false"})
    void versionsThatDoNotFitAreNotUsed(String version, boolean fits) {
        assertThat(CurlFunctions.unfit(version).isEmpty()).isEqualTo(fits);
    }

    @Test
    void digestIsThatOfTheJdk() throws GeneralSecurityException {
        assumeTrue(curl.problem().isEmpty());
        for (int size : new int[]{0, 1, 63, 64, 65, 1_000_003}) {
            byte[] bytes = new byte[size];
            new Random(size).nextBytes(bytes);
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment memory = arena.allocate(size).copyFrom(MemorySegment.ofArray(bytes));
                assertThat(curl.sha256(memory)).contains(MessageDigest.getInstance("SHA-256").digest(bytes));
            }
        }
    }

    @Test
    void requestsShareAConnectionAndSendWhatTheyHave() throws IOException {
        assumeTrue(curl.problem().isEmpty(), () -> String.valueOf(curl.problem()));
        try (NativeHttp.Wire wire = curl.open(); Arena arena = Arena.ofConfined()) {
            Kept get = new Kept();
            wire.send(request("GET", "/a/../b//%2Fc?d=%20"), get);
            assertThat(get.bytes.toString(StandardCharsets.UTF_8))
                    .isEqualTo("GET /a/../b//%2Fc?d=%20 [a b]nullnull0");
            assertThat(get.status).isEqualTo(206);
            assertThat(get.headers.get("X-TWICE")).containsExactly("1", "2");
            for (long size : new long[]{0, 10, 3 << 20}) {
                Kept put = new Kept();
                wire.send(request("PUT", "/p").withBody(arena.allocate(size)), put);
                assertThat(put.bytes.toString(StandardCharsets.UTF_8)).isEqualTo("PUT /p [a b]nullnull" + size);
                assertThat(put.sent).isEqualTo(size);
            }
            Kept head = new Kept();
            wire.send(request("HEAD", "/h"), head);
            assertThat(head.status).isEqualTo(206);
            assertThat(head.bytes.size()).isZero();
        }
        assertThat(ports).hasSize(1);
    }

    /** libcurl must connect to the addresses that were looked at, whatever the name has become meanwhile. */
    @Test
    void nameIsNotLookedUpAgain() throws IOException {
        assumeTrue(curl.problem().isEmpty(), () -> String.valueOf(curl.problem()));
        NativeHttp.Request request = request("GET", "/");
        try (NativeHttp.Wire wire = curl.open()) {
            for (String host : List.of("store.invalid", "Store.Invalid.", "192.0.2.1", "[2001:db8::1]")) {
                Kept kept = new Kept();
                URI uri = URI.create("http://%s:%s/".formatted(host, server.getAddress().getPort()));
                wire.send(to(uri, request.addresses()), kept);
                assertThat(kept.status).as(host).isEqualTo(206);
                assertThatThrownBy(() -> wire.send(to(uri, List.of()), new Kept()))
                        .isInstanceOf(UnknownHostException.class);
            }
        }
    }

    private static NativeHttp.Request to(URI uri, List<InetAddress> addresses) {
        return new NativeHttp.Request("GET", uri, Map.of(), Optional.empty(), Optional.empty(), addresses,
                Duration.ofSeconds(10), Optional.empty(), Map.of(), false);
    }

    @Test
    void failuresEndTheRequestOnly() throws IOException {
        assumeTrue(curl.problem().isEmpty(), () -> String.valueOf(curl.problem()));
        try (NativeHttp.Wire wire = curl.open()) {
            assertThatThrownBy(() -> wire.send(request("GET", "/endless"), new Kept())).isInstanceOf(IOException.class);
            assertThatThrownBy(() -> wire.send(request("GET", "/"), new Kept() {
                @Override
                public boolean body(MemorySegment part) {
                    throw new IllegalArgumentException("thrown");
                }
            })).hasMessage("thrown");
            Kept cut = new Kept() {
                @Override
                public boolean body(MemorySegment part) {
                    return false;
                }
            };
            wire.send(request("GET", "/"), cut);
            assertThat(cut.status).isEqualTo(206);
            Kept whole = new Kept();
            wire.send(request("GET", "/"), whole);
            assertThat(whole.bytes.size()).isPositive();
        }
    }

    @Test
    void requestThatNobodyWaitsForEnds() throws Exception {
        assumeTrue(curl.problem().isEmpty(), () -> String.valueOf(curl.problem()));
        CountDownLatch asked = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        server.createContext("/stalls", exchange -> {
            asked.countDown();
            try {
                end.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        NativeHttp.Wire wire = curl.open();
        try (wire) {
            Kept kept = new Kept();
            Thread waker = Thread.ofVirtual().start(() -> {
                try {
                    asked.await();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
                kept.abandoned = true;
                wire.wake();
            });
            wire.send(request("GET", "/stalls"), kept);
            assertThat(kept.status).isZero();
            waker.join();
        } finally {
            end.countDown();
        }
        wire.wake();
    }

    @Test
    void resultsAreTheExceptionsOfTheJdk() {
        assertThat(CurlErrors.of(6, "x", 0, false)).isInstanceOf(UnknownHostException.class);
        assertThat(CurlErrors.of(7, "x", 0, false)).isInstanceOf(ConnectException.class);
        assertThat(CurlErrors.of(28, "x", 0, false)).isInstanceOf(SocketTimeoutException.class);
        assertThat(CurlErrors.of(60, "x", 0, false)).hasCauseInstanceOf(CertificateException.class);
        assertThat(CurlErrors.of(35, "wrong version number", 0, false))
                .hasMessageContaining("Unrecognized SSL message");
        assertThat(CurlErrors.of(35, "alert handshake failure", 0, false))
                .hasMessageContaining("Received fatal alert: ");
        assertThat(CurlErrors.of(56, "x", 403, false)).hasMessage("Tunnel failed, got: 403");
        assertThat(CurlErrors.of(56, "x", 200, false)).hasMessage("x (libcurl 56)");
        assertThat(CurlErrors.of(56,
                "SSL_read: error:0A00045C:SSL routines::tlsv13 alert certificate required, errno 0", 0, false))
                .hasMessage("Received fatal alert: certificate_required");
        assertThat(CurlErrors.of(8, "Invalid Content-Length: value", 0, true)).isInstanceOf(ProtocolException.class);
        assertThat(CurlErrors.of(27, "Out of memory", 0, true)).hasMessage("Header size too big");
        assertThat(CurlErrors.of(27, "Out of memory", 0, false)).hasMessage("Out of memory (libcurl 27)");
    }
}
