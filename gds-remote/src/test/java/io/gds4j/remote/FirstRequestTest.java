package io.gds4j.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.sun.net.httpserver.HttpExchange;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.source.Cancellation;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.time.Duration;
import java.util.Arrays;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** First answers of servers: size, version and first bytes must be those of one object. */
@Timeout(12)
class FirstRequestTest {
    private static final int SIZE = 200_001;
    private static final int HEAD = 64 << 10;
    private static final byte[] BYTES = RangeServer.random(SIZE);
    private static final HttpOptions OPTIONS = HttpOptions.DEFAULTS.withRequests(64 << 10, 2)
            .withPatience(Duration.ofSeconds(5), 3, Duration.ofMillis(1));

    private final RangeServer server = new RangeServer();
    private final URI uri = server.put("/object.bin", BYTES);

    @AfterEach
    void stop() {
        server.close();
    }

    private static boolean answer(HttpExchange exchange, int status, String range, int from, int count)
            throws IOException {
        if (!range.isEmpty()) {
            exchange.getResponseHeaders().set("Content-Range", range);
        }
        exchange.sendResponseHeaders(status, count);
        exchange.getResponseBody().write(BYTES, from, count);
        return true;
    }

    private CuFileException refused(HttpOptions options) {
        CuFileException failure = catchThrowableOfType(CuFileException.class, () -> HttpSource.open(uri, options));
        assertThat(failure).as("a failure").isNotNull();
        return failure;
    }

    private void assertReadsAll(HttpOptions options) throws InterruptedException {
        HttpSource source = HttpSource.open(uri, options);
        byte[] into = new byte[SIZE];
        assertThat(source.size()).isEqualTo(SIZE);
        assertThat(source.read(0, MemorySegment.ofArray(into), Cancellation.NEVER)).isEqualTo(SIZE);
        assertThat(into).isEqualTo(BYTES);
    }

    @ParameterizedTest
    @CsvSource({"bytes 1-65536/200001", "bytes 0-65536/200001", "bytes 0-65535/65535",
            "bytes 65536-131071/200001"})
    void otherRangeThanTheFirstBytesIsRefused(String range) {
        server.on((exchange, request) -> answer(exchange, 206, range, 0, HEAD));
        assertThat(refused(OPTIONS)).hasMessageContaining("wrong Content-Range '%s'".formatted(range))
                .returns(Errno.EIO, failure -> failure.errno().orElse(0));
    }

    @Test
    void shortBodyIsAskedForAgain() throws InterruptedException {
        server.on((exchange, request) -> request == 1
                && answer(exchange, 206, "bytes 0-65535/200001", 0, 100));
        assertReadsAll(OPTIONS);
        server.on((exchange, request) -> answer(exchange, 206, "bytes 0-65535/200001", 0, 100));
        assertThat(refused(OPTIONS)).hasMessageContaining("the body ends 65436 bytes early (3 attempts)");
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 10, HEAD - 1})
    void shorterRangeIsReadOn(int size) throws InterruptedException {
        server.on((exchange, request) -> {
            exchange.getResponseHeaders().set("ETag", server.etag);
            return request == 1 && answer(exchange, 206, "bytes 0-%d/200001".formatted(size - 1), 0, size);
        });
        assertReadsAll(OPTIONS);
    }

    @Test
    void bodyLongerThanItsRangeIsRefused() {
        server.on((exchange, request) -> answer(exchange, 206, "bytes 0-99/100", 0, 101));
        assertThat(refused(OPTIONS)).hasMessageContaining("the body is longer than the range");
    }

    /** The size and the version are those of the first answer; the bytes of the second one must belong to them. */
    @ParameterizedTest(name = "{0}")
    @CsvSource({"ETag, '\"b\"'", "Last-Modified, 'Tue, 24 Nov 2026 10:00:00 GMT'", "Content-Encoding, gzip"})
    void objectWithoutRangesMayNotChangeWhileItIsOpened(String header, String then) throws InterruptedException {
        server.on((exchange, request) -> {
            exchange.getResponseHeaders().set("ETag", "\"a\"");
            exchange.getResponseHeaders().set("Last-Modified", "Mon, 23 Nov 2026 10:00:00 GMT");
            if (request > 1) {
                exchange.getResponseHeaders().set(header, then);
            }
            return answer(exchange, 200, "", 0, SIZE);
        });
        assertThat(refused(OPTIONS.withSequential(true)))
                .hasMessageContaining("the object changed while it was opened")
                .returns(Errno.ESTALE, failure -> failure.errno().orElse(0));
        server.on((exchange, request) -> answer(exchange, 200, "", 0, SIZE));
        assertReadsAll(OPTIONS.withSequential(true));
    }

    @Test
    void objectWithoutRangesMayNotShrinkWhileItIsOpened() {
        server.on((exchange, request) -> answer(exchange, 200, "", 0, request == 1 ? SIZE : SIZE - 1));
        assertThat(refused(OPTIONS.withSequential(true)))
                .hasMessageContaining("the object changed while it was opened");
    }

    @ParameterizedTest
    @CsvSource({"404, 2", "403, 13", "412, 116"})
    void secondAnswerOfAnObjectWithoutRangesMayFail(int status, int errno) {
        server.on((exchange, request) -> {
            if (request == 1) {
                return answer(exchange, 200, "", 0, SIZE);
            }
            exchange.sendResponseHeaders(status, -1);
            return true;
        });
        assertThat(refused(OPTIONS.withSequential(true))).returns(errno, failure -> failure.errno().orElse(0));
    }

    @Test
    void redirectsHaveALimit() {
        server.on((exchange, request) -> {
            exchange.getResponseHeaders().set("Location", "/object.bin?" + request);
            exchange.sendResponseHeaders(302, -1);
            return true;
        });
        assertThat(refused(OPTIONS.withRedirects(3))).hasMessageContaining("more than 3 redirects");
        assertThat(server.requests()).isEqualTo(4);
    }

    /** Its mapping needs room on the disk: the limit is that of the program. */
    @Test
    void objectWithoutRangesHasALimit() throws InterruptedException {
        server.on((exchange, request) -> answer(exchange, 200, "", 0, SIZE));
        assertThat(refused(OPTIONS.withSequential(SIZE - 1)))
                .hasMessageContaining("the object has %d bytes".formatted(SIZE))
                .hasMessageContaining("allows " + (SIZE - 1))
                .returns(Errno.EFBIG, failure -> failure.errno().orElse(0));
        assertReadsAll(OPTIONS.withSequential(SIZE));
    }

    /** An answer that has all must not be asked for again, nor an encoded one be believed. */
    @ParameterizedTest(name = "status {0}, {1} bytes, {2}")
    @CsvSource({"200, 100, '', '', 1", "200, 0, '', '', 1", "416, 0, '', 'bytes */0', 1", "416, 0, '', '', 2",
            "206, 100, '', 'bytes 0-99/100', 1"})
    void answersAreAskedForOnce(int status, int size, String encoding, String range, int requests)
            throws InterruptedException {
        server.on((exchange, request) -> {
            if (request > requests) {
                exchange.sendResponseHeaders(410, -1);
                return true;
            }
            if (!range.isEmpty()) {
                exchange.getResponseHeaders().set("Content-Range", range);
            }
            exchange.sendResponseHeaders(request == 2 ? 200 : status, size == 0 ? -1 : size);
            exchange.getResponseBody().write(BYTES, 0, size);
            return true;
        });
        HttpSource source = HttpSource.open(uri, OPTIONS);
        assertThat(source.size()).isEqualTo(size);
        byte[] into = new byte[size];
        assertThat(source.read(0, MemorySegment.ofArray(into), Cancellation.NEVER)).isEqualTo(size);
        assertThat(into).isEqualTo(Arrays.copyOf(BYTES, size));
        assertThat(server.requests()).isEqualTo(requests);
    }

    @ParameterizedTest
    @ValueSource(ints = {100, HEAD + 1})
    void encodedObjectWithoutRangesIsRefused(int size) {
        server.on((exchange, request) -> {
            exchange.getResponseHeaders().set("Content-Encoding", "gzip");
            return answer(exchange, 200, "", 0, size);
        });
        assertThat(refused(OPTIONS.withSequential(true))).hasMessageContaining("the body is encoded: gzip");
        assertThat(server.requests()).isEqualTo(1);
    }

    @Test
    void copyThatFindsNoFolderNamesIt() {
        server.on((exchange, request) -> answer(exchange, 200, "", 0, SIZE));
        String folder = System.setProperty("java.io.tmpdir", "/nonexistent/gds4j");
        try {
            assertThat(refused(OPTIONS.withSequential(true)))
                    .hasMessageContaining("no copy of the object in /nonexistent/gds4j")
                    .returns(Errno.EIO, failure -> failure.errno().orElse(0));
        } finally {
            System.setProperty("java.io.tmpdir", folder);
        }
    }
}
