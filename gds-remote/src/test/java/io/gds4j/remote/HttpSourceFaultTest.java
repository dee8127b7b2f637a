package io.gds4j.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import com.sun.net.httpserver.HttpExchange;
import io.gds4j.error.CuFileException;
import io.gds4j.source.Cancellation;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.ref.WeakReference;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Redirects that meet, waits for connections, arguments that are not allowed, and what they may tell. */
@Tag("slow")
@Timeout(60)
class HttpSourceFaultTest {
    private static final int SIZE = 700_001;
    private static final byte[] BYTES = RangeServer.random(SIZE);
    private static final HttpOptions OPTIONS = HttpOptions.DEFAULTS.withRequests(64 << 10, 8)
            .withPatience(Duration.ofSeconds(20), 3, Duration.ofMillis(1));

    private final RangeServer server = new RangeServer();
    private final URI uri = server.put("/object.bin", BYTES);

    @AfterEach
    void stop() {
        server.close();
    }

    private static void assertReads(HttpSource source, int offset, int size) throws InterruptedException {
        byte[] into = new byte[size];
        assertThat(source.read(offset, MemorySegment.ofArray(into), Cancellation.NEVER)).isEqualTo(size);
        assertThat(into).isEqualTo(Arrays.copyOfRange(BYTES, offset, offset + size));
    }

    private static boolean redirect(HttpExchange exchange, String location) throws IOException {
        exchange.getResponseHeaders().set("Location", location);
        exchange.sendResponseHeaders(302, -1);
        return true;
    }

    private static void pause(int millis) {
        try {
            TimeUnit.MILLISECONDS.sleep(millis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** The examples of RFC 3986 5.4, and bases without a path. */
    @ParameterizedTest
    @CsvSource(ignoreLeadingAndTrailingWhitespace = true, quoteCharacter = '"', value = {
            "g:h, g:h", "g, http://a/b/c/g", "./g, http://a/b/c/g", "g/, http://a/b/c/g/", "/g, http://a/g",
            "//g, http://g", "?y, http://a/b/c/d;p?y", "g?y, http://a/b/c/g?y", "#s, http://a/b/c/d;p?q",
            "g#s, http://a/b/c/g", "g?y#s, http://a/b/c/g?y", ";x, http://a/b/c/;x", "g;x, http://a/b/c/g;x",
            "g;x?y#s, http://a/b/c/g;x?y", "\"\", http://a/b/c/d;p?q", "., http://a/b/c/", "./, http://a/b/c/",
            ".., http://a/b/", "../, http://a/b/", "../g, http://a/b/g", "../.., http://a/", "../../, http://a/",
            "../../g, http://a/g", "../../../g, http://a/g", "../../../../g, http://a/g", "/./g, http://a/g",
            "/../g, http://a/g", "g., http://a/b/c/g.", ".g, http://a/b/c/.g", "g.., http://a/b/c/g..",
            "..g, http://a/b/c/..g", "./../g, http://a/b/g", "./g/., http://a/b/c/g/", "g/./h, http://a/b/c/g/h",
            "g/../h, http://a/b/c/h", "g;x=1/./y, http://a/b/c/g;x=1/y", "g;x=1/../y, http://a/b/c/y",
            "g?y/./x, http://a/b/c/g?y/./x", "g?y/../x, http://a/b/c/g?y/../x", "g#s/./x, http://a/b/c/g",
            "g#s/../x, http://a/b/c/g", "http:g, http:g", "http://b/../c/./d?e#f, http://b/c/d?e", "//b, http://b",
            "a//b/../c, http://a/b/c/a//c", "%2e%2e/g, http://a/b/c/%2e%2e/g", "g h, http://a/b/c/g%20h"})
    void redirectIsResolvedAsTheStandardSays(String reference, String expected) {
        assertThat(ObjectName.resolved(URI.create("http://a/b/c/d;p?q"), reference)).hasToString(expected);
    }

    @ParameterizedTest
    @CsvSource({"http://a, g, http://a/g", "http://a, ?y, http://a?y", "http://a?q, '', http://a?q",
            "http://a/b//c, ../d, http://a/b/d", "http://u@a:1/b, /c, http://u@a:1/c"})
    void baseMayLackAPath(URI base, String reference, String expected) {
        assertThat(ObjectName.resolved(base, reference)).hasToString(expected);
    }

    @Test
    void partsThatAreRedirectedTogetherFollowTheirOwnRedirect() throws Exception {
        server.put("/a/b/object.bin", BYTES);
        HttpSource source = HttpSource.open(server.put("/a/object.bin", BYTES), OPTIONS);
        server.on((exchange, request) -> exchange.getRequestURI().getPath().equals("/a/object.bin")
                && redirect(exchange, "b/object.bin"));
        assertReads(source, 100_000, 500_000);
    }

    @Test
    void signedPlaceThatExpiresIsAskedForAgain() throws Exception {
        server.put("/signed", BYTES);
        server.on((exchange, request) -> exchange.getRequestURI().getPath().equals("/object.bin")
                && redirect(exchange, "/signed?expired"));
        HttpSource source = HttpSource.open(uri, OPTIONS);
        server.on((exchange, request) -> {
            boolean expired = "expired".equals(exchange.getRequestURI().getQuery());
            if (expired) {
                exchange.sendResponseHeaders(403, -1);
            }
            return expired || exchange.getRequestURI().getPath().equals("/object.bin")
                    && redirect(exchange, "/signed?fresh");
        });
        assertReads(source, 100_000, 500_000);
        server.on((exchange, request) -> {
            exchange.sendResponseHeaders(403, -1);
            return true;
        });
        assertThatThrownBy(() -> assertReads(source, 100_000, 500_000)).hasMessageContaining("refuses access");
    }

    /** Such a part failed at the second place that had expired. */
    @Test
    void partMayOutliveManySignedPlaces() throws Exception {
        server.put("/signed", BYTES);
        AtomicInteger place = new AtomicInteger();
        Set<String> used = ConcurrentHashMap.newKeySet();
        HttpSource source = HttpSource.open(uri, OPTIONS.withRequests(64 << 10, 1));
        server.on((exchange, request) -> {
            if (exchange.getRequestURI().getPath().equals("/object.bin")) {
                return redirect(exchange, "/signed?" + place.incrementAndGet());
            }
            if (used.add(exchange.getRequestURI().getQuery())) {
                int[] range = RangeServer.range(exchange, SIZE);
                server.send(exchange, BYTES, range[0], range[1], Math.min(64 << 10, range[1] - range[0] + 1));
            } else {
                exchange.sendResponseHeaders(403, -1);
            }
            return true;
        });
        assertReads(source, 100_000, 256 << 10);
        assertThat(place.get()).isGreaterThanOrEqualTo(4);
    }

    @Test
    void failureThatPassesIsRepeatedWithoutRangesToo() throws Exception {
        server.on((exchange, request) -> {
            boolean busy = request == 2;
            exchange.sendResponseHeaders(busy ? 503 : 200, busy ? -1 : SIZE);
            if (!busy) {
                exchange.getResponseBody().write(BYTES);
            }
            return true;
        });
        assertReads(HttpSource.open(uri, OPTIONS.withSequential(true)), 100_000, 500_000);
    }

    @Test
    void locationThatIsNoUrlStaysOutOfTheTrace() {
        server.on((exchange, request) -> redirect(exchange, "http://[h/?key=hush"));
        assertThat(catchThrowable(() -> HttpSource.open(uri, OPTIONS))).isInstanceOf(CuFileException.class)
                .hasMessageContaining("bad Location").satisfies(HttpSourceFaultTest::tellsNothing);
    }

    @ParameterizedTest
    @CsvSource({"Authorization, 'Bearer hush\n', Authorization", "Host, hush, Host", "'X\nhush', 1, X?hush"})
    void headersThatCannotBeSentAreRefused(String name, String value, String shown) {
        assertThat(catchThrowable(() -> OPTIONS.withHeader(name, value))).isInstanceOf(CuFileException.class)
                .hasMessageContaining("the header %s is not allowed".formatted(shown))
                .satisfies(e -> assertThat(value.equals("1") || isSilent(e)).isTrue());
    }

    private static void tellsNothing(Throwable failure) {
        assertThat(isSilent(failure)).isTrue();
    }

    private static boolean isSilent(Throwable failure) {
        boolean silent = true;
        for (Throwable each = failure; each != null; each = each.getCause()) {
            silent &= !each.toString().contains("hush");
        }
        return silent;
    }

    @Test
    void timesOutOfRangeAreRefused() {
        for (Duration time : new Duration[]{ChronoUnit.FOREVER.getDuration(), Duration.ofSeconds(Long.MIN_VALUE),
                Duration.ZERO}) {
            assertThatThrownBy(() -> OPTIONS.withPatience(time, 3, Duration.ZERO)).isInstanceOf(CuFileException.class)
                    .hasMessageContaining("stallTimeout");
        }
    }

    @Test
    void channelObeysTheContractOfChannels() throws Exception {
        FileChannel channel = FileChannel.open(HttpFiles.path(uri, OPTIONS));
        ByteBuffer readOnly = ByteBuffer.allocate(10).asReadOnlyBuffer();
        assertThatThrownBy(() -> channel.read(ByteBuffer.allocate(10), -1))
                .isInstanceOf(IllegalArgumentException.class);
        for (int offset : new int[]{0, 100_000}) {
            assertThatThrownBy(() -> channel.read(readOnly, offset)).isInstanceOf(IllegalArgumentException.class);
        }
        assertThat(channel.read(ByteBuffer.allocate(10), SIZE)).isEqualTo(-1);
        channel.close();
        assertThatThrownBy(() -> channel.read(ByteBuffer.allocate(10))).isInstanceOf(ClosedChannelException.class);
    }

    /** The client keeps the last request of an idle connection, and with it kept the memory of its reader. */
    @Test
    void idleConnectionsKeepNoMemoryOfReaders() throws Exception {
        HttpSource source = HttpSource.open(uri, OPTIONS);
        List<WeakReference<byte[]>> targets = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            targets.add(readIntoNewMemory(source, i == 3));
        }
        // The client closes idle connections after 30 s.
        long end = System.nanoTime() + Duration.ofSeconds(20).toNanos();
        while (targets.stream().anyMatch(target -> target.get() != null)) {
            System.gc();
            assertThat(System.nanoTime()).isLessThan(end);
        }
        assertThat(source.size()).isEqualTo(SIZE);
    }

    private WeakReference<byte[]> readIntoNewMemory(HttpSource source, boolean fails) throws InterruptedException {
        byte[] target = new byte[500_000];
        server.on((exchange, request) -> {
            if (fails) {
                exchange.sendResponseHeaders(404, -1);
            }
            return fails;
        });
        try {
            source.read(100_000, MemorySegment.ofArray(target), Cancellation.NEVER);
        } catch (CuFileException e) {
            assertThat(fails).isTrue();
        }
        return new WeakReference<>(target);
    }

    /** Reads that fail in every way, or are given up, keep no connection, and write nothing afterwards. */
    @Test
    @Timeout(3600)
    void failedReadsKeepNothing() throws Exception {
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        long end = System.nanoTime() + Duration.ofMillis(Long.getLong("gds4j.property.seconds", 0) * 1000 + 300)
                .toNanos();
        HttpSource source = HttpSource.open(uri, OPTIONS.withRequests(64 << 10, 3));
        Random random = new Random(seed);
        do {
            long faults = random.nextLong();
            server.on((exchange, request) -> misbehaves(exchange, new Random(faults + request)));
            int offset = 70_000 + random.nextInt(100_000);
            byte[] into = new byte[random.nextInt(500_000)];
            long patience = System.nanoTime() + random.nextInt(20_000_000);
            boolean interrupts = random.nextInt(4) == 0;
            try {
                if (interrupts) {
                    Thread.currentThread().interrupt();
                }
                long count = source.read(offset, MemorySegment.ofArray(into), () -> System.nanoTime() > patience);
                assertThat(count).isEqualTo(into.length);
                assertThat(into).as("seed %d", seed).isEqualTo(Arrays.copyOfRange(BYTES, offset, offset + into.length));
            } catch (CuFileException | InterruptedException e) {
                Arrays.fill(into, (byte) 0);
            }
            boolean failed = into.length > 0 && into[0] == 0 && BYTES[offset] != 0;
            Thread.interrupted();
            server.on(null);
            assertReads(source, 70_000, 200_000);
            if (failed) {
                assertThat(into).as("seed %d", seed).containsOnly(0);
            }
        } while (System.nanoTime() < end);
    }

    private boolean misbehaves(HttpExchange exchange, Random random) throws IOException {
        int[] range = RangeServer.range(exchange, SIZE);
        switch (random.nextInt(12)) {
            case 0 -> exchange.sendResponseHeaders(503, -1);
            case 1 -> exchange.sendResponseHeaders(random.nextInt(10) == 0 ? 404 : 500, -1);
            case 2 -> server.send(exchange, BYTES, range[0], range[1], random.nextInt(range[1] - range[0] + 2));
            case 3 -> {
                exchange.getResponseHeaders().set("ETag", "\"v1\"");
                exchange.getResponseHeaders().set(
                        "Content-Range", "bytes %d-%d/%d".formatted(range[0], range[1], SIZE));
                exchange.sendResponseHeaders(206, 0);
                exchange.getResponseBody().write(BYTES, range[0], random.nextInt(4) == 0 ? 100_000 : 100);
            }
            case 4 -> exchange.close();
            case 5 -> {
                pause(random.nextInt(10));
                return false;
            }
            case 6 -> redirect(exchange, random.nextBoolean() ? "/object.bin" : "/none");
            default -> {
                return false;
            }
        }
        return true;
    }
}
