package io.gds4j.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.sun.net.httpserver.HttpExchange;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.config.CuFileConfig;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.source.Cancellation;
import io.gds4j.statistics.IoPath;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ProxySelector;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpRequest;
import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** HTTP objects as sources, over a server that misbehaves. */
@Timeout(60)
class HttpSourceTest {
    private static final int SIZE = 700_001;
    private static final byte[] BYTES = RangeServer.random(SIZE);

    /** Small parts, no pauses, little patience. */
    private static final HttpOptions OPTIONS = HttpOptions.DEFAULTS.withRequests(64 << 10, 8)
            .withPatience(Duration.ofSeconds(20), 3, Duration.ofMillis(1));

    private final RangeServer server = new RangeServer();
    private final URI uri = server.put("/object.bin", BYTES);

    @AfterEach
    void stop() {
        server.close();
    }

    private static byte[] read(HttpSource source, long offset, int size) throws InterruptedException {
        byte[] into = new byte[size];
        long count = source.read(offset, MemorySegment.ofArray(into), Cancellation.NEVER);
        return Arrays.copyOf(into, (int) count);
    }

    private byte[] readAll() throws InterruptedException {
        return read(HttpSource.open(uri, OPTIONS), 0, SIZE);
    }

    /** Opens the object well, then reads it while the fault answers. */
    private CuFileException failure(HttpOptions options, RangeServer.Fault fault) {
        HttpSource source = HttpSource.open(uri, options);
        server.on(fault);
        CuFileException e = catchThrowableOfType(CuFileException.class, () -> read(source, 100_000, 300_000));
        assertThat(e.error()).isEqualTo(CuFileError.IO_ERROR);
        assertThat(e.getMessage()).contains(uri.toString(), "bytes ", " to ").doesNotContain("\n");
        return e;
    }

    private static boolean status(HttpExchange exchange, int status) throws IOException {
        exchange.sendResponseHeaders(status, -1);
        return true;
    }

    @Test
    void rangesArriveInTheMemoryOfTheReader() throws Exception {
        HttpSource source = HttpSource.open(uri, OPTIONS);
        assertThat(source.size()).isEqualTo(SIZE);
        assertThat(read(source, 0, SIZE)).isEqualTo(BYTES);
        assertThat(read(source, 123_456, 400_000)).isEqualTo(Arrays.copyOfRange(BYTES, 123_456, 523_456));
        assertThat(read(source, SIZE - 10, 100)).isEqualTo(Arrays.copyOfRange(BYTES, SIZE - 10, SIZE));
        assertThat(read(source, SIZE, 100)).isEmpty();
        assertThat(server.exchanges.getLast().getRequestHeaders().getFirst("If-Match")).isEqualTo("\"v1\"");
    }

    @Test
    void longReadsSendFewRequestsOnEachConnection() throws Exception {
        HttpSource source = HttpSource.open(uri, OPTIONS.withRequests(64 << 10, 2));
        assertThat(source.preferredRequestBytes()).isEqualTo(512 << 10);
        int before = server.requests();
        assertThat(read(source, 0, SIZE)).isEqualTo(BYTES);
        // parts of 256 KiB, four times as many bytes as those of a short read
        assertThat(server.requests() - before).isEqualTo(3);
        assertThat(read(source, 100_000, 128 << 10)).isEqualTo(Arrays.copyOfRange(BYTES, 100_000, 231_072));
        assertThat(server.requests() - before).isEqualTo(5);
    }

    @Test
    void rangesHaveAsciiDigitsInEveryLanguage() throws Exception {
        Locale before = Locale.getDefault();
        Locale.setDefault(Locale.forLanguageTag("ar-EG"));
        try {
            assertThat(readAll()).isEqualTo(BYTES);
        } finally {
            Locale.setDefault(before);
        }
    }

    @Test
    void handleReadsItThroughTheEngine() {
        try (CuFileDriver driver = CuFileDriver.open(CuFileConfig.builder().withoutEnvironment().build(), "compat");
                CuFileHandle file = driver.openFile(HttpFiles.path(uri, OPTIONS));
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, SIZE)) {
            assertThat(file.read(memory.range(), 0)).isEqualTo(SIZE);
            assertThat(memory.segment().toArray(ValueLayout.JAVA_BYTE)).isEqualTo(BYTES);
            assertThat(driver.bytesByPath()).containsOnlyKeys(IoPath.USER_SOURCE);
            assertThat(file.path().orElseThrow()).hasToString(uri.toString());
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 5})
    void rangeIsRefusedWithoutASizeForEmptyObjectsOnly(int size) throws Exception {
        server.on((exchange, request) -> {
            if (exchange.getRequestHeaders().containsKey("Range")) {
                return status(exchange, 416);
            }
            exchange.sendResponseHeaders(200, size == 0 ? -1 : size);
            exchange.getResponseBody().write(BYTES, 0, size);
            return true;
        });
        if (size == 0) {
            assertThat(read(HttpSource.open(uri, OPTIONS), 0, 10)).isEmpty();
        } else {
            assertThatThrownBy(() -> HttpSource.open(uri, OPTIONS)).hasMessageContaining("status 416");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "bytes 0-9/700001", "bytes 100000-165535/9", "items 1-2/3", "bytes 5-1/700001",
            "bytes 99999999999999999999-1/2", "bytes 100000-165535/*"})
    void wrongContentRangeIsRefused(String header) {
        CuFileException e = failure(OPTIONS, (exchange, request) -> {
            if (!header.isEmpty()) {
                exchange.getResponseHeaders().set("Content-Range", header);
            }
            exchange.getResponseHeaders().set("ETag", "\"v1\"");
            exchange.sendResponseHeaders(206, 10);
            exchange.getResponseBody().write(new byte[10]);
            return true;
        });
        assertThat(e.getMessage()).containsAnyOf("Content-Range", "the object changed");
    }

    /** The body has the length that was asked for, so that nothing else tells of another range. */
    @ParameterizedTest
    @CsvSource({"1, 0", "-1, 0", "0, 1", "0, -1", "1, 1", "-1, -1"})
    void bodyOfAnotherRangeIsRefused(int later, int longer) {
        CuFileException e = failure(OPTIONS, (exchange, request) -> {
            int[] range = RangeServer.range(exchange, SIZE);
            exchange.getResponseHeaders().set("ETag", "\"v1\"");
            exchange.getResponseHeaders().set("Content-Range",
                    "bytes %d-%d/%d".formatted(range[0] + later, range[1] + longer, SIZE));
            exchange.sendResponseHeaders(206, range[1] - range[0] + 1);
            exchange.getResponseBody().write(BYTES, range[0], range[1] - range[0] + 1);
            return true;
        });
        assertThat(e.getMessage()).contains(later == 0 && longer < 0 ? "the body is longer than the range"
                : "instead of bytes");
    }

    @Test
    void serverWithoutRangesIsRefusedOrReadFromTheBeginning() throws Exception {
        server.on((exchange, request) -> {
            exchange.sendResponseHeaders(200, SIZE);
            exchange.getResponseBody().write(BYTES);
            return true;
        });
        assertThatThrownBy(() -> HttpSource.open(uri, OPTIONS)).hasMessageContaining("no ranges");
        HttpSource source = HttpSource.open(uri, OPTIONS.withSequential(true));
        int before = server.requests();
        assertThat(read(source, 0, SIZE)).isEqualTo(BYTES);
        assertThat(read(source, 500_000, SIZE)).isEqualTo(Arrays.copyOfRange(BYTES, 500_000, SIZE));
        assertThat(server.requests()).isEqualTo(before);
    }

    @ParameterizedTest
    @CsvSource({"https://127.0.0.1/x, from http to https", "http://169.254.169.254/latest, link-local",
            "file:///etc/passwd, not an http", "'http://[fe80::1]/x', link-local"})
    void redirectThatMayLeakIsNotFollowed(String location, String text) {
        server.on((exchange, request) -> {
            exchange.getResponseHeaders().set("Location", location);
            return status(exchange, 302);
        });
        assertThatThrownBy(() -> HttpSource.open(uri, server.asProxy(OPTIONS)))
                .isInstanceOf(CuFileException.class).hasMessageContaining(text);
    }

    @Test
    void objectWithoutRangesHasALimit() {
        server.on((exchange, request) -> {
            exchange.sendResponseHeaders(200, SIZE);
            exchange.getResponseBody().write(BYTES);
            return true;
        });
        assertThat(HttpSource.open(uri, OPTIONS.withSequential(SIZE)).size()).isEqualTo(SIZE);
        assertThatThrownBy(() -> HttpSource.open(uri, OPTIONS.withSequential(SIZE - 1L)))
                .hasMessageContaining("withSequential allows " + (SIZE - 1)).hasMessageContaining("EFBIG");
        server.on((exchange, request) -> {
            exchange.sendResponseHeaders(200, 9_000_000_000_000_000L);
            exchange.getResponseBody().write(BYTES);
            exchange.getResponseBody().flush();
            return true;
        });
        int before = server.requests();
        assertThatThrownBy(() -> HttpSource.open(uri, OPTIONS.withSequential(true)))
                .hasMessageContaining("has no room for a copy of 9000000000000000 bytes")
                .hasMessageContaining("ENOSPC");
        assertThat(server.requests()).as("not repeated").isEqualTo(before + 1);
    }

    @Test
    void requestsGoThroughTheProxy() throws Exception {
        InetSocketAddress address = new InetSocketAddress("127.0.0.1", uri.getPort());
        HttpOptions options = OPTIONS.withProxy(ProxySelector.of(address));
        HttpSource source = HttpSource.open(URI.create("http://storage.invalid/object.bin"), options);
        assertThat(read(source, 0, SIZE)).isEqualTo(BYTES);
    }

    @Test
    void readersTogetherUseAllConnectionsAndNoMore() throws Exception {
        int connections = 3;
        int part = 64 << 10;
        byte[] bytes = RangeServer.random(part * (1 + 8 * connections));
        HttpSource source = HttpSource.open(
                server.put("/large.bin", bytes), OPTIONS.withRequests(part, connections));
        CyclicBarrier together = new CyclicBarrier(connections);
        AtomicInteger open = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        server.on((exchange, request) -> {
            most.accumulateAndGet(open.incrementAndGet(), Math::max);
            await(together);
            open.decrementAndGet();
            return false;
        });
        int half = 13 * part; // its first part came with the open
        CompletableFuture<byte[]> begin = new CompletableFuture<>();
        Thread other = Thread.ofVirtual().start(() -> {
            try {
                begin.complete(read(source, 0, half));
            } catch (InterruptedException | RuntimeException e) {
                begin.completeExceptionally(e);
            }
        });
        byte[] end = read(source, half, bytes.length - half);
        other.join();
        assertThat(begin.join()).isEqualTo(Arrays.copyOf(bytes, half));
        assertThat(end).isEqualTo(Arrays.copyOfRange(bytes, half, bytes.length));
        assertThat(most).hasValue(connections);
        assertThat(server.exchanges.stream().map(HttpExchange::getRemoteAddress).distinct()).hasSize(connections);
    }

    @Test
    void oneReadIntoHostMemoryUsesAllConnections() {
        int connections = 8;
        HttpOptions options = HttpOptions.DEFAULTS.withRequests(4 << 20, connections);
        byte[] bytes = RangeServer.random(connections << 22);
        try (CuFileDriver driver = CuFileDriver.open(CuFileConfig.builder().withoutEnvironment().build(), "compat");
                CuFileHandle file = driver.openSource(HttpSource.open(server.put("/large.bin", bytes), options));
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, bytes.length)) {
            CyclicBarrier together = new CyclicBarrier(connections);
            server.on((exchange, request) -> {
                await(together);
                return false;
            });
            assertThat(file.read(memory.range(), 0)).isEqualTo(bytes.length);
            assertThat(memory.segment().mismatch(MemorySegment.ofArray(bytes))).isEqualTo(-1);
        }
    }

    private static void await(CyclicBarrier together) throws IOException {
        try {
            together.await(10, TimeUnit.SECONDS);
        } catch (Exception e) {
            throw new IOException(e);
        }
    }

    @Test
    void refusedConnectionNamesTheUrl() {
        server.close();
        assertThatThrownBy(() -> HttpSource.open(uri, OPTIONS)).isInstanceOf(CuFileException.class)
                .hasMessageContaining(uri.toString()).hasMessageContaining("3 attempts");
    }

    @Test
    void sourceTellsWhatItIs() {
        HttpSource source = HttpSource.open(uri.resolve("/object.bin?key=secret"), OPTIONS);
        assertThat(source.identity()).isEqualTo(uri + "?...");
        assertThat(source).hasToString("HttpSource[%s?..., 700001 bytes]".formatted(uri));
        assertThat(source.contentVersion()).contains("ETag \"v1\"");
        assertThat(source.isKnown(0, 64 << 10)).isTrue();
        assertThat(source.isKnown(1, 64 << 10)).isFalse();
        assertThat(source.isKnown((64 << 10) - 1, 1)).isTrue();
        server.etag = "W/\"v1\"";
        assertThat(HttpSource.open(uri, OPTIONS).contentVersion()).isEmpty();
    }

    @Test
    void firstBytesNeedNoFurtherRequest() throws Exception {
        HttpSource source = HttpSource.open(uri, OPTIONS);
        byte[] into = new byte[64 << 10];
        assertThat(source.read(0, MemorySegment.ofArray(into), () -> true)).isEqualTo(into.length);
        assertThat(into).isEqualTo(Arrays.copyOf(BYTES, into.length));
        assertThat(server.requests()).isEqualTo(1);
        assertThatThrownBy(() -> source.read(1, MemorySegment.ofArray(into), () -> true))
                .isInstanceOf(InterruptedException.class);
    }

    @Test
    void interruptedThreadOpensNothingAndStaysInterrupted() throws Exception {
        // it takes a connection and never answers: an answer that is there already would be taken
        try (ServerSocket silent = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            URI waits = URI.create("http://127.0.0.1:%s/file".formatted(silent.getLocalPort()));
            Thread.currentThread().interrupt();
            CuFileInterruptedException e =
                    catchThrowableOfType(CuFileInterruptedException.class, () -> HttpSource.open(waits, OPTIONS));
            assertThat(Thread.interrupted()).isTrue();
            assertThat(e).hasMessageContaining("interrupted while %s was opened".formatted(waits));
            assertThat(e.errno()).hasValue(Errno.EINTR);
        }
    }

    @Test
    void userOfAUrlStaysOutOfTheRequest() {
        URI named = URI.create(uri.toString().replace("http://", "http://user:secret@"));
        HttpConnections connections = HttpConnections.of(uri, OPTIONS);
        HttpRequest request = HttpSource.request(connections, named, named, "Basic x", Map.of()).build();
        assertThat(request.uri()).isEqualTo(uri);
        assertThat(request.headers().firstValue("Authorization")).contains("Basic x");
    }

    /** Only the place of a redirect may have expired. */
    @Test
    void objectThatIsGoneIsAskedForOnce() {
        AtomicInteger asked = new AtomicInteger();
        failure(OPTIONS.withRequests(1 << 20, 1), (exchange, request) -> {
            asked.incrementAndGet();
            return status(exchange, 404);
        });
        assertThat(asked).hasValue(1);
    }
}
