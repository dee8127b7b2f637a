package io.gds4j.remote;

import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.ByteBuffer;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicLong;

/** A body that counts its bytes on their way to the connection. Thread-safe. */
final class CountedBody implements BodyPublisher {
    private final AtomicLong bytes = new AtomicLong();
    private final BodyPublisher body;

    CountedBody(byte[] content) {
        body = BodyPublishers.ofByteArray(content);
    }

    long bytes() {
        return bytes.get();
    }

    @Override
    public long contentLength() {
        return body.contentLength();
    }

    @Override
    public void subscribe(Flow.Subscriber<? super ByteBuffer> subscriber) {
        body.subscribe(new Flow.Subscriber<>() {
            @Override
            public void onSubscribe(Flow.Subscription subscription) {
                subscriber.onSubscribe(subscription);
            }

            @Override
            public void onNext(ByteBuffer part) {
                bytes.addAndGet(part.remaining());
                subscriber.onNext(part);
            }

            @Override
            public void onError(Throwable failure) {
                subscriber.onError(failure);
            }

            @Override
            public void onComplete() {
                subscriber.onComplete();
            }
        });
    }
}
