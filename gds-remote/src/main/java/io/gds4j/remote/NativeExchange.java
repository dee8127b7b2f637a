package io.gds4j.remote;

import io.gds4j.internal.http.NativeHttp;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import java.util.function.Supplier;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;

/** A request of {@link NativeClient} and its answer, as those of the client of the JDK. */
final class NativeExchange<T> implements NativeHttp.Answer, Flow.Subscription {
    private final HttpRequest request;
    private final HttpResponse.BodyHandler<T> handler;
    private final Optional<CountedBody> content;
    private final CompletableFuture<HttpResponse<T>> future = new CompletableFuture<>();
    private @Nullable Head head;
    private HttpResponse.@Nullable BodySubscriber<T> body;
    private volatile boolean wantsNoMore;

    private record Head(int statusCode, HttpHeaders headers) implements HttpResponse.ResponseInfo {
        @Override
        public HttpClient.Version version() {
            return HttpClient.Version.HTTP_1_1;
        }
    }

    private record Whole<T>(HttpRequest request, int statusCode, HttpHeaders headers, T body)
            implements
                HttpResponse<T> {
        @Override
        public Optional<HttpResponse<T>> previousResponse() {
            return Optional.empty();
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
            return HttpClient.Version.HTTP_1_1;
        }
    }

    NativeExchange(HttpRequest request, HttpResponse.BodyHandler<T> handler) {
        this.request = request;
        this.handler = handler;
        content = request.bodyPublisher().filter(CountedBody.class::isInstance).map(CountedBody.class::cast);
    }

    CompletableFuture<HttpResponse<T>> future() {
        return future;
    }

    /** Makes the request without its body, and looks at where it goes. */
    @FunctionalInterface
    interface Start {
        NativeHttp.Request request() throws IOException;
    }

    /**
     * Sends the request and waits for the answer.
     *
     * @param connection opens a connection, or returns the one that is open
     */
    void run(Supplier<NativeHttp.Wire> connection, Start start) {
        try {
            NativeHttp.Request bodiless = start.request();
            NativeHttp.Wire wire = connection.get();
            future.whenComplete((response, failure) -> {
                if (future.isCancelled()) {
                    wire.wake();
                }
            });
            if (content.isPresent()) {
                content.get().use(bytes -> wire.send(bodiless.withBody(bytes), this));
            } else {
                wire.send(bodiless, this);
            }
            Head known = head;
            HttpResponse.BodySubscriber<T> filled = body;
            if (known == null || filled == null) {
                throw new IOException("the server sent no answer");
            }
            if (!wantsNoMore) {
                filled.onComplete();
            }
            filled.getBody().whenComplete((value, failure) -> {
                if (failure == null) {
                    future.complete(new Whole<>(request, known.statusCode, known.headers, value));
                } else {
                    future.completeExceptionally(failure);
                }
            });
        } catch (Throwable t) {
            HttpResponse.BodySubscriber<T> filled = body;
            if (filled != null) {
                filled.onError(t);
            }
            future.completeExceptionally(t);
        }
    }

    @Override
    public boolean isAbandoned() {
        return future.isDone();
    }

    @Override
    public void sent(long bytes) {
        content.ifPresent(counted -> counted.sent(bytes));
    }

    @Override
    public void head(int status, Map<String, List<String>> headers) {
        Head known = new Head(status, HttpHeaders.of(headers, (name, value) -> true));
        HttpResponse.BodySubscriber<T> made = handler.apply(known);
        head = known;
        body = made;
        made.onSubscribe(this);
    }

    @Override
    public boolean body(MemorySegment bytes) {
        HttpResponse.BodySubscriber<T> open = body;
        if (open == null || wantsNoMore) {
            return false;
        }
        if (open instanceof RangeBody range) {
            range.take(bytes); // for each 16 KiB of https
        } else {
            open.onNext(List.of(bytes.asByteBuffer()));
        }
        return !wantsNoMore;
    }

    @Override
    public void request(long items) {
        // All bytes come at once.
    }

    @Override
    public void cancel() {
        wantsNoMore = true;
    }
}
