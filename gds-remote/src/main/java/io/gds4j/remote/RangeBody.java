package io.gds4j.remote;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.http.HttpResponse.BodySubscriber;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;

/**
 * Copies a body straight into memory. Takes no byte more than the range has, and none after {@link #detach}. Forgets the memory at
 * its end: the client's idle connections keep their last request, and would keep the memory of the reader. The body of a failure is
 * its text instead. Thread-safe.
 */
final class RangeBody implements BodySubscriber<String> {
    /** Longest text of a failure: that of an S3 server has a few hundred bytes. */
    private static final int TEXT_BYTES = 4096;

    private final CompletableFuture<String> done = new CompletableFuture<>();
    private final boolean isText;
    private MemorySegment target;
    private Flow.@Nullable Subscription subscription;
    private long received;
    private boolean tooLong;
    private boolean full;
    private boolean detached;

    /** @param target receives the body; empty to drop the body and its connection */
    RangeBody(MemorySegment target) {
        this(target, false);
    }

    private RangeBody(MemorySegment target, boolean isText) {
        this.target = target;
        this.isText = isText;
    }

    /** Returns a body that is the beginning of a text. */
    static RangeBody text() {
        return new RangeBody(MemorySegment.ofArray(new byte[TEXT_BYTES]), true);
    }

    /** Takes no byte more than these. */
    synchronized RangeBody atMost(long bytes) {
        target = target.asSlice(0, Math.min(bytes, target.byteSize()));
        return this;
    }

    @Override
    public CompletionStage<String> getBody() {
        return done;
    }

    @Override
    public synchronized void onSubscribe(Flow.Subscription given) {
        subscription = given;
        if (detached || target.byteSize() == 0) {
            given.cancel();
            complete();
        } else {
            given.request(Long.MAX_VALUE);
        }
    }

    @Override
    public synchronized void onNext(List<ByteBuffer> buffers) {
        buffers.forEach(buffer -> take(MemorySegment.ofBuffer(buffer)));
    }

    /** Takes the next bytes. */
    synchronized void take(MemorySegment bytes) {
        if (detached) {
            return;
        }
        long room = target.byteSize() - received;
        long count = bytes.byteSize();
        if (count > room && !isText) {
            tooLong = true;
            detach();
            return;
        }
        try {
            MemorySegment.copy(bytes, 0, target, received, Math.min(count, room));
        } catch (InternalError e) {
            // the disk behind a mapped file is full
            full = true;
            detach();
            return;
        }
        received += Math.min(count, room);
        if (count > room) {
            detach();
        }
    }

    @Override
    public synchronized void onError(Throwable failure) {
        target = MemorySegment.NULL;
        done.completeExceptionally(failure);
    }

    @Override
    public void onComplete() {
        complete();
    }

    private synchronized void complete() {
        if (done.isDone()) {
            return;
        }
        done.complete(isText ? new String(target.asSlice(0, received).toArray(ValueLayout.JAVA_BYTE),
                StandardCharsets.UTF_8) : "");
        detached = true;
        target = MemorySegment.NULL;
    }

    synchronized long received() {
        return received;
    }

    synchronized boolean isTooLong() {
        return tooLong;
    }

    /** Returns whether the file behind the memory had no room. */
    synchronized boolean isFull() {
        return full;
    }

    /** Lets no further byte into the memory, and ends the body. */
    synchronized void detach() {
        detached = true;
        if (subscription != null) {
            subscription.cancel();
        }
        complete();
    }
}
