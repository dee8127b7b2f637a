package io.gds4j.remote;

import java.lang.foreign.MemorySegment;
import java.net.http.HttpResponse.BodySubscriber;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;

/**
 * Copies a body straight into memory. Takes no byte more than the range has, and none after {@link #detach}. Thread-safe.
 */
final class RangeBody implements BodySubscriber<Void> {
    private final CompletableFuture<Void> done = new CompletableFuture<>();
    private final MemorySegment target;
    private Flow.@Nullable Subscription subscription;
    private long received;
    private boolean tooLong;
    private boolean full;
    private boolean detached;

    /** @param target receives the body; empty to drop the body and its connection */
    RangeBody(MemorySegment target) {
        this.target = target;
    }

    @Override
    public CompletionStage<Void> getBody() {
        return done;
    }

    @Override
    public synchronized void onSubscribe(Flow.Subscription given) {
        subscription = given;
        if (detached || target.byteSize() == 0) {
            given.cancel();
            done.complete(null);
        } else {
            given.request(Long.MAX_VALUE);
        }
    }

    @Override
    public synchronized void onNext(List<ByteBuffer> buffers) {
        for (ByteBuffer buffer : buffers) {
            if (detached) {
                return;
            }
            long room = target.byteSize() - received;
            if (buffer.remaining() > room) {
                tooLong = true;
                detach();
                return;
            }
            long count = buffer.remaining();
            try {
                MemorySegment.copy(MemorySegment.ofBuffer(buffer), 0, target, received, count);
            } catch (InternalError e) {
                // the disk behind a mapped file is full
                full = true;
                detach();
                return;
            }
            received += count;
        }
    }

    @Override
    public void onError(Throwable failure) {
        done.completeExceptionally(failure);
    }

    @Override
    public void onComplete() {
        done.complete(null);
    }

    MemorySegment target() {
        return target;
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
        done.complete(null);
    }
}
