package io.gds4j.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.junit.jupiter.api.Assumptions.abort;

import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** One request after the other until a range is there. The client answers when and what the test says, on its thread. */
@Timeout(20)
class RangePartTest {
    /** Fewest bytes that count as progress. */
    private static final int PROGRESS = 64 << 10;
    private static final int SIZE = 8 * PROGRESS;
    private static final byte[] BYTES = RangeServer.random(SIZE);
    private static final URI OBJECT = URI.create("http://127.0.0.1:1/object");
    private static final Duration LONG = Duration.ofHours(10);
    private static final HttpOptions OPTIONS =
            HttpOptions.DEFAULTS.withRequests(PROGRESS, 1).withPatience(LONG, 100, Duration.ZERO).withRedirects(20);

    /** A request that waits for its answer. */
    private static final class Asked<T> {
        private final HttpRequest request;
        private final HttpResponse.BodyHandler<T> handler;
        private final CompletableFuture<HttpResponse<T>> answer = new CompletableFuture<>();
        private Head head = new Head(0, HttpHeaders.of(Map.of(), (name, value) -> true));
        private HttpResponse.@Nullable BodySubscriber<T> body;

        Asked(HttpRequest request, HttpResponse.BodyHandler<T> handler) {
            this.request = request;
            this.handler = handler;
        }

        private String range() {
            return request.headers().firstValue("Range").orElseThrow();
        }

        /** Returns the first byte that is asked for. */
        private int first() {
            return Integer.parseInt(range().replaceAll("bytes=(\\d+)-.*", "$1"));
        }

        private int last() {
            return Integer.parseInt(range().replaceAll(".*-", ""));
        }

        private Asked<T> begin(int status, String... headers) {
            Map<String, List<String>> all = new HashMap<>();
            for (int i = 0; i < headers.length; i += 2) {
                all.put(headers[i], List.of(headers[i + 1]));
            }
            head = new Head(status, HttpHeaders.of(all, (name, value) -> true));
            body = handler.apply(head);
            body.onSubscribe(new Flow.Subscription() {
                @Override
                public void request(long count) {
                    // the test sends what it wants
                }

                @Override
                public void cancel() {
                    // the bytes that are under way come nevertheless
                }
            });
            return this;
        }

        /** Promises the range to {@code last}. */
        private Asked<T> beginRange(int last) {
            return begin(206, "Content-Range", "bytes %s-%s/%s".formatted(first(), last, SIZE));
        }

        private HttpResponse.BodySubscriber<T> body() {
            return Optional.ofNullable(body).orElseThrow();
        }

        private Asked<T> send(int from, int count) {
            body().onNext(List.of(ByteBuffer.wrap(BYTES, from, count)));
            return this;
        }

        private void end() {
            body().onComplete();
            answer.complete(new Answer<>(request, head, body().getBody().toCompletableFuture().join()));
        }

        private void breaks() {
            answer.completeExceptionally(new IOException("reset by the test"));
        }

        private void answers(int status, String... headers) {
            begin(status, headers).end();
        }

        /** Answers with the first bytes of the range, which are all that are promised. */
        private void serve(int count) {
            beginRange(first() + count - 1).send(first(), count).end();
        }
    }

    private record Head(int statusCode, HttpHeaders headers) implements HttpResponse.ResponseInfo {
        @Override
        public HttpClient.Version version() {
            return HttpClient.Version.HTTP_1_1;
        }
    }

    private record Answer<T>(HttpRequest request, Head head, T body) implements HttpResponse<T> {
        @Override
        public int statusCode() {
            return head.statusCode;
        }

        @Override
        public Optional<HttpResponse<T>> previousResponse() {
            return Optional.empty();
        }

        @Override
        public HttpHeaders headers() {
            return head.headers;
        }

        @Override
        public Optional<SSLSession> sslSession() {
            return Optional.empty();
        }

        @Override
        public URI uri() {
            return request.uri();
        }

        @Override
        public HttpClient.Version version() {
            return head.version();
        }
    }

    private final List<Asked<?>> asked = new ArrayList<>();
    private final AtomicInteger wakes = new AtomicInteger();
    private final byte[] memory = new byte[SIZE];
    private boolean failsToSend;

    private final Client client = new Client() {
        @Override
        public <T> CompletableFuture<HttpResponse<T>> exchange(
                HttpRequest request, Place place, HttpResponse.BodyHandler<T> handler) {
            Asked<T> now = new Asked<>(request, handler);
            asked.add(now);
            if (failsToSend) {
                now.beginRange(SIZE - 1).send(0, 10);
                throw new IllegalStateException("not sent");
            }
            return now.answer;
        }
    };

    /** One connection, through which the client of the test sends. */
    private HttpConnections connections(HttpOptions options) {
        Signer own = new Signer() {
            @Override
            public Map<String, String> headers(
                    String method, URI place, String bodySha256, Map<String, String> sent) {
                return Map.of();
            }
        };
        ClientPool pool = ClientPool.of(options, own);
        pool.give(client);
        return new HttpConnections(options, own, System::nanoTime);
    }

    private static HttpSource source(HttpConnections connections) {
        return new HttpSource(connections, OBJECT, "", Place.of(OBJECT), new ObjectVersion(SIZE, "", "", ""),
                MemorySegment.NULL);
    }

    private RangePart part(HttpConnections connections) {
        return new RangePart(
                source(connections), 0, MemorySegment.ofArray(memory), false, wakes::incrementAndGet);
    }

    private RangePart part(HttpOptions options) {
        return part(connections(options));
    }

    private Asked<?> last() {
        return asked.getLast();
    }

    /** Answers and lets the part see it. */
    private void step(RangePart part, Runnable answer) {
        answer.run();
        part.step();
    }

    @Test
    void wholeAnswerTakesOneAttempt() {
        RangePart part = part(OPTIONS.withPatience(LONG, 1, Duration.ZERO));
        part.step();
        part.step();
        assertThat(asked).as("one request at a time").hasSize(1);
        assertThat(last().range()).isEqualTo("bytes=0-" + (SIZE - 1));
        assertThat(part.isDone()).isFalse();
        step(part, () -> last().serve(SIZE));
        assertThat(part.isDone()).isTrue();
        assertThat(wakes).as("the reader is woken by the answer").hasValue(1);
        part.step();
        assertThat(asked).hasSize(1);
        assertThat(memory).isEqualTo(BYTES);
    }

    /** Makes an attempt fail, whatever bytes have come, and sees it. */
    private void fail(RangePart part, String how) {
        switch (how) {
            case "broken" -> step(part, last()::breaks);
            case "busy" -> step(part, () -> last().answers(503));
            case "early" -> step(part, () -> last().beginRange(last().last()).send(last().first(), 100).end());
            case "expired" -> {
                step(part, () -> last().answers(302, "Location", "/signed"));
                assertThat(last().request.uri()).hasPath("/signed");
                step(part, () -> last().answers(403));
            }
            default -> throw new AssertionError(how);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"broken", "busy", "early", "expired"})
    void nextAttemptFollowsAfterAPause(String how) {
        RangePart part = part(OPTIONS.withPatience(LONG, 5, Duration.ofHours(1)));
        part.step();
        fail(part, how);
        for (int i = 0; i < 100; i++) {
            part.step();
        }
        assertThat(asked).as("half an hour has not passed").hasSize(how.equals("expired") ? 2 : 1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"broken", "busy", "early", "expired"})
    void nextAttemptContinuesBehindTheBytesThatCame(String how) {
        RangePart part = part(OPTIONS);
        part.step();
        int came = PROGRESS + 1000;
        step(part, () -> last().serve(came));
        fail(part, how);
        part.step();
        assertThat(last().request.uri()).isEqualTo(OBJECT);
        assertThat(last().first()).isEqualTo(how.equals("early") ? came + 100 : came);
        step(part, () -> last().serve(SIZE - last().first()));
        assertThat(part.isDone()).isTrue();
        assertThat(memory).isEqualTo(BYTES);
    }

    /** The second of two attempts would be the last one. */
    @ParameterizedTest
    @ValueSource(strings = {"broken", "early"})
    void failedAttemptThatBroughtBytesIsTheFirstAgain(String how) {
        RangePart part = part(OPTIONS.withPatience(LONG, 2, Duration.ZERO));
        part.step();
        fail(part, "busy");
        part.step();
        Asked<?> second = last().beginRange(SIZE - 1).send(0, PROGRESS);
        step(part, how.equals("broken") ? second::breaks : second::end);
        part.step();
        assertThat(last().first()).isEqualTo(PROGRESS);
        assertThatThrownBy(() -> fail(part, how)).hasMessageContaining("(2 attempts)");
    }

    @ParameterizedTest(name = "{0} {1}: {2}")
    @CsvSource({"200, '', the server sent the whole object instead of the range", "404, '', there is no such object",
            "206, bytes 5-99/524288, 'Content-Range is ''bytes 5-99/524288'' instead of bytes 0-524287/524288'",
            "206, bytes 0-99/100, 'the object changed: it had 524288 bytes, now it has 100'",
            "206, bytes 0-524288/524288, wrong Content-Range"})
    void answerThatIsNotTheRangeEndsTheRead(int status, String range, String reason) {
        RangePart part = part(OPTIONS);
        part.step();
        String[] headers = range.isEmpty() ? new String[0] : new String[]{"Content-Range", range};
        assertThatThrownBy(() -> step(part, () -> last().answers(status, headers)))
                .isInstanceOf(CuFileException.class).hasMessageContaining(reason);
        assertThat(asked).hasSize(1);
        assertThat(memory).containsOnly(0);
    }

    @Test
    void answerThatGoesOnBehindTheRangeEndsTheRead() {
        RangePart part =
                new RangePart(source(connections(OPTIONS)), 1000, MemorySegment.ofArray(memory).asSlice(0, 100),
                        false, wakes::incrementAndGet);
        part.step();
        assertThat(last().range()).isEqualTo("bytes=1000-1099");
        assertThatThrownBy(() -> step(part, () -> last().answers(206, "Content-Range", "bytes 1000-1100/" + SIZE)))
                .hasMessageContaining("instead of bytes 1000-1099/");
    }

    @Test
    void redirectsHaveALimit() {
        RangePart part = part(OPTIONS.withRedirects(1));
        part.step();
        step(part, () -> last().answers(302, "Location", "/one"));
        assertThatThrownBy(() -> step(part, () -> last().answers(302, "Location", "/two")))
                .hasMessageContaining("more than 1 redirects");
    }

    @Test
    void answersWithHardlyAnyBytesEnd() {
        RangePart part = part(OPTIONS);
        part.step();
        for (int i = 0; i < 64; i++) {
            step(part, () -> last().serve(1));
        }
        assertThatThrownBy(() -> step(part, () -> last().serve(1))).hasMessageContaining("64 answers in a row");
    }

    /** It asks the program's URL for a new place once for each place that served bytes. */
    @Test
    void placeThatServedBytesMayExpire() {
        RangePart part = part(OPTIONS);
        part.step();
        fail(part, "expired");
        part.step();
        step(part, () -> last().answers(302, "Location", "/signed"));
        step(part, () -> last().serve(10));
        assertThat(last().request.uri()).hasPath("/signed");
        step(part, () -> last().answers(403));
        part.step();
        assertThat(last().request.uri()).isEqualTo(OBJECT);
        CuFileException e = catchThrowableOfType(CuFileException.class, () -> fail(part, "expired"));
        assertThat(e).as("that place never served a byte").hasMessageContaining("refuses access");
        assertThat(e.errno()).hasValue(Errno.EACCES);
    }

    /** Ends a request under way, and returns it. */
    private Asked<?> end(RangePart part, String how) {
        if (how.equals("not sent")) {
            failsToSend = true;
            assertThatThrownBy(part::step).hasMessage("not sent");
            failsToSend = false;
            return last();
        }
        part.step();
        Asked<?> request = last().beginRange(SIZE - 1).send(0, 10);
        if (how.equals("broken")) {
            step(part, request::breaks);
        } else {
            part.abandon();
            assertThat(request.answer).isCancelled();
        }
        return request;
    }

    @ParameterizedTest
    @ValueSource(strings = {"broken", "abandoned", "not sent"})
    void nothingIsWrittenAfterTheEnd(String how) {
        RangePart part = part(OPTIONS.withPatience(LONG, 5, Duration.ofHours(1)));
        Asked<?> request = end(part, how);
        request.send(10, 1000);
        assertThat(memory).isEqualTo(Arrays.copyOf(Arrays.copyOf(BYTES, 10), SIZE));
    }

    @ParameterizedTest
    @ValueSource(strings = {"broken", "abandoned", "not sent"})
    void connectionServesTheNextPartAfterTheEnd(String how) {
        HttpConnections one = connections(OPTIONS.withPatience(LONG, 5, Duration.ofHours(1)));
        RangePart part = part(one);
        end(part, how);
        RangePart next = part(one);
        int before = asked.size();
        next.step();
        assertThat(asked).hasSize(before + 1);
        step(next, () -> last().serve(SIZE));
        assertThat(next.isDone()).isTrue();
    }

    /** A part that asks again while it waits has one place in the queue, and none once its reader gives it up. */
    @Test
    void partThatWaitsForAConnectionIsWokenOnce() {
        HttpConnections one = connections(OPTIONS);
        RangePart part = part(one);
        RangePart other = part(one);
        Client only = one.tryAcquire(other).orElseThrow();
        for (int i = 0; i < 3; i++) {
            part.step();
        }
        assertThat(wakes).hasValue(0);
        one.release(only, 0, false);
        assertThat(wakes).hasValue(1);
        one.release(one.tryAcquire(other).orElseThrow(), 0, false);
        assertThat(wakes).hasValue(1);

        only = one.tryAcquire(other).orElseThrow();
        part.step();
        part.abandon();
        one.release(only, 0, false);
        assertThat(wakes).hasValue(1);
    }

    /** Bytes that come are progress before their answer ends, however long it takes. */
    @Test
    void bytesOnTheirWayAreProgress() {
        Duration stall = Duration.ofMillis(1);
        RangePart part = part(OPTIONS.withPatience(stall, 1, Duration.ZERO));
        for (int i = 0; asked.isEmpty(); i++) {
            assertThat(i).as("parts whose time was over before they began, on a busy machine").isLessThan(10_000);
            try {
                part.step();
            } catch (CuFileException e) {
                part = part(OPTIONS.withPatience(stall, 1, Duration.ZERO));
            }
        }
        last().beginRange(SIZE - 1);
        for (int at = 0; at < SIZE - PROGRESS; at += PROGRESS) {
            last().send(at, PROGRESS);
            pass(stall);
            part.step();
        }
        pass(stall);
        RangePart stalled = part;
        CuFileException e = catchThrowableOfType(CuFileException.class, stalled::step);
        assertThat(e).as("no byte came since").hasMessageContaining("no progress");
        assertThat(e.errno()).hasValue(Errno.ETIMEDOUT);
    }

    /** Lets time pass. */
    private static void pass(Duration time) {
        long until = System.nanoTime() + time.toNanos();
        while (System.nanoTime() - until <= 0) {
            Thread.onSpinWait();
        }
    }

    /** Looks often enough, and longer than a part may be without progress. A machine that stops for so long proves nothing. */
    @Test
    void waitForAConnectionIsNoStall() {
        Duration stall = Duration.ofMillis(200);
        HttpConnections one = connections(OPTIONS.withPatience(stall, 1, Duration.ZERO));
        one.tryAcquire(part(one)).orElseThrow();
        for (int round = 0; round < 20; round++) {
            RangePart part = part(one);
            long begun = System.nanoTime();
            long looked = begun;
            try {
                while (System.nanoTime() - begun < 2 * stall.toNanos()) {
                    long before = System.nanoTime();
                    part.step();
                    looked = before;
                }
                assertThat(asked).isEmpty();
                return;
            } catch (CuFileException e) {
                assertThat(System.nanoTime() - looked).as("it looked in time: %s", e)
                        .isGreaterThanOrEqualTo(stall.toNanos());
            } finally {
                part.abandon();
            }
        }
        abort("this machine stops too often");
    }
}
