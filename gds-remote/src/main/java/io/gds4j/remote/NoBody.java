package io.gds4j.remote;

import java.io.IOException;
import java.net.http.HttpResponse.BodySubscriber;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;

/** Takes no body, and so ends the connection. */
final class NoBody<T> implements BodySubscriber<T> {
    @Override
    public CompletionStage<T> getBody() {
        return CompletableFuture.failedFuture(new IOException("the body is not wanted"));
    }

    @Override
    public void onSubscribe(Flow.Subscription subscription) {
        subscription.cancel();
    }

    @Override
    public void onNext(List<ByteBuffer> item) {
        // dropped
    }

    @Override
    public void onError(Throwable failure) {
        // told already
    }

    @Override
    public void onComplete() {
        // told already
    }
}
