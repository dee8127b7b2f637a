package io.gds4j.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Bodies that arrive in memory, and those that leave it. */
@Timeout(10)
class RangeBodyTest {
    /** What a client is told. */
    private static final class Client implements Flow.Subscription {
        private long requested;
        private int cancelled;

        @Override
        public void request(long count) {
            requested += count;
        }

        @Override
        public void cancel() {
            cancelled++;
        }
    }

    private final byte[] memory = new byte[8];
    private final Client client = new Client();

    private static MemorySegment bytes(int... values) {
        MemorySegment segment = MemorySegment.ofArray(new byte[values.length]);
        for (int i = 0; i < values.length; i++) {
            segment.set(ValueLayout.JAVA_BYTE, i, (byte) values[i]);
        }
        return segment;
    }

    private RangeBody subscribed(int size) {
        RangeBody body = new RangeBody(MemorySegment.ofArray(memory).asSlice(0, size));
        body.onSubscribe(client);
        return body;
    }

    private static CompletableFuture<String> end(RangeBody body) {
        return body.getBody().toCompletableFuture();
    }

    @Test
    void buffersArriveOneBehindTheOther() {
        RangeBody body = subscribed(5);
        assertThat(client.requested).isEqualTo(Long.MAX_VALUE);
        body.onNext(List.of(ByteBuffer.wrap(new byte[]{1, 2}), ByteBuffer.wrap(new byte[]{3})));
        assertThat(body.received()).isEqualTo(3);
        body.take(bytes(4, 5));
        assertThat(end(body)).isNotDone();
        body.onComplete();

        assertThat(memory).containsExactly(1, 2, 3, 4, 5, 0, 0, 0);
        assertThat(body.received()).isEqualTo(5);
        assertThat(body.isTooLong() || body.isFull()).isFalse();
        assertThat(end(body)).isCompletedWithValue("");
        assertThat(client.cancelled).isZero();
    }

    /** The client may deliver what it had under way. */
    @Test
    void nothingArrivesAfterTheEnd() {
        RangeBody ended = subscribed(5);
        ended.take(bytes(1));
        ended.onComplete();
        ended.take(bytes(2));
        assertThat(ended.received()).isEqualTo(1);
        assertThat(memory).containsExactly(1, 0, 0, 0, 0, 0, 0, 0);

        RangeBody detached = subscribed(5);
        detached.detach();
        detached.take(bytes(3));
        assertThat(detached.received()).isZero();
        assertThat(detached.isTooLong()).isFalse();
        assertThat(memory).containsExactly(1, 0, 0, 0, 0, 0, 0, 0);
        assertThat(client.cancelled).isEqualTo(1);
        assertThat(end(detached)).isCompletedWithValue("");
    }

    @Test
    void byteBehindTheRangeEndsTheBody() {
        RangeBody body = subscribed(3);
        body.take(bytes(1, 2));
        body.take(bytes(3, 4));

        assertThat(body.isTooLong()).isTrue();
        assertThat(body.received()).as("only what fits is counted").isEqualTo(2);
        assertThat(memory).containsExactly(1, 2, 0, 0, 0, 0, 0, 0);
        assertThat(client.cancelled).isEqualTo(1);
        assertThat(end(body)).isCompleted();
    }

    @Test
    void bodyWithoutMemoryIsDropped() {
        RangeBody body = new RangeBody(MemorySegment.NULL);
        body.onSubscribe(client);
        assertThat(client.cancelled).isEqualTo(1);
        assertThat(client.requested).isZero();
        assertThat(end(body)).isCompletedWithValue("");
    }

    @Test
    void bodyThatWasGivenUpBeforeItBeganIsDropped() {
        RangeBody body = new RangeBody(MemorySegment.ofArray(memory));
        body.detach();
        body.onSubscribe(client);
        assertThat(client.cancelled).isEqualTo(1);
        assertThat(client.requested).isZero();
    }

    @Test
    void failureEndsTheBody() {
        RangeBody body = subscribed(3);
        body.onError(new IOException("reset"));
        assertThat(end(body)).isCompletedExceptionally();
        body.onComplete();
        assertThat(end(body)).isCompletedExceptionally();
    }

    @Test
    void textOfAFailureIsCutAtItsLimit() {
        RangeBody text = RangeBody.text();
        text.onSubscribe(client);
        text.take(MemorySegment.ofArray("no such ".getBytes()));
        text.take(MemorySegment.ofArray("bücket".getBytes()));
        text.onComplete();
        assertThat(end(text)).isCompletedWithValue("no such bücket");

        RangeBody endless = RangeBody.text();
        endless.onSubscribe(client);
        endless.take(MemorySegment.ofArray("x".repeat(4000).getBytes()));
        assertThat(end(endless)).isNotDone();
        endless.take(MemorySegment.ofArray("y".repeat(4000).getBytes()));
        assertThat(end(endless)).isCompletedWithValue("x".repeat(4000) + "y".repeat(96));
        assertThat(endless.isTooLong()).isFalse();
        assertThat(client.cancelled).isEqualTo(1);

        RangeBody exact = RangeBody.text();
        exact.onSubscribe(client);
        exact.take(MemorySegment.ofArray("x".repeat(4096).getBytes()));
        assertThat(end(exact)).as("the end has not come").isNotDone();
    }

    /** Takes all bytes of a body that is sent; fails if there are more than its length. */
    private static byte[] sent(CountedBody body) {
        ByteBuffer all = ByteBuffer.allocate((int) body.contentLength());
        CompletableFuture<byte[]> end = new CompletableFuture<>();
        body.subscribe(new Flow.Subscriber<>() {
            private Flow.@Nullable Subscription subscription;
            private int parts;

            @Override
            public void onSubscribe(Flow.Subscription given) {
                subscription = given;
                given.request(1);
            }

            @Override
            public void onNext(ByteBuffer part) {
                if (++parts > 1000 || part.remaining() > all.remaining()) {
                    end.completeExceptionally(new AssertionError("more than the body"));
                    return;
                }
                all.put(part);
                Objects.requireNonNull(subscription).request(1);
            }

            @Override
            public void onError(Throwable failure) {
                end.completeExceptionally(failure);
            }

            @Override
            public void onComplete() {
                end.complete(all.array());
            }
        });
        return end.orTimeout(5, TimeUnit.SECONDS).join();
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 65_535, 65_536, 65_537, 200_000})
    void bodyThatIsSentIsCounted(int size) {
        byte[] content = RangeServer.random(size);
        CountedBody body = new CountedBody(MemorySegment.ofArray(content));
        assertThat(body.contentLength()).isEqualTo(size);
        assertThat(body.bytes()).isZero();
        assertThat(sent(body)).isEqualTo(content);
        assertThat(body.bytes()).isEqualTo(size);
        body.sent(3);
        assertThat(body.bytes()).isEqualTo(3);
    }

    @Test
    void nativeClientGetsNativeMemory() throws IOException {
        byte[] content = RangeServer.random(1000);
        List<byte[]> seen = new ArrayList<>();
        CountedBody.Use use = bytes -> {
            assertThat(bytes.isNative()).isTrue();
            seen.add(bytes.toArray(ValueLayout.JAVA_BYTE));
        };
        new CountedBody(MemorySegment.ofArray(content)).use(use);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment own = arena.allocate(1000).copyFrom(MemorySegment.ofArray(content));
            new CountedBody(own).use(bytes -> assertThat(bytes.address()).as("no copy").isEqualTo(own.address()));
            new CountedBody(own).use(use);
        }
        assertThat(seen).hasSize(2).allMatch(bytes -> Arrays.equals(bytes, content));
    }

    @Test
    void forgottenBodyIsNotSent() {
        CountedBody body = new CountedBody(MemorySegment.ofArray(new byte[10]));
        body.forget();
        assertThatThrownBy(() -> body.use(bytes -> {
        })).isInstanceOf(IllegalStateException.class).hasMessage("the request has ended");
        assertThatThrownBy(() -> sent(body)).hasRootCauseInstanceOf(IllegalStateException.class);
        assertThat(body.contentLength()).isEqualTo(10);
    }

    /** The client of the JDK does not ask for a body without bytes, so that one may be on its way unseen. */
    @Test
    void forgottenBodyTellsWhetherAClientMayHaveBegun() throws IOException {
        CountedBody unused = new CountedBody(MemorySegment.ofArray(new byte[10]));
        assertThat(unused.forget()).isFalse();
        assertThat(new CountedBody(MemorySegment.NULL).forget()).isTrue();
        CountedBody used = new CountedBody(MemorySegment.ofArray(new byte[10]));
        used.use(bytes -> {
        });
        assertThat(used.forget()).isTrue();
        CountedBody subscribed = new CountedBody(MemorySegment.ofArray(new byte[10]));
        sent(subscribed);
        assertThat(subscribed.forget()).isTrue();
    }
}
