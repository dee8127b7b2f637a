package io.gds4j.remote;

import java.net.ProtocolException;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Sends requests, and follows no redirects. Thread-safe. */
interface Client {
    /**
     * Sends a request.
     *
     * @param place where the request goes
     * @param handler its body must copy the bytes that it gets: they may be memory that is used again
     * @return the whole answer, or what kept it away, such as headers that contradict each other; cancelling it ends the request
     */
    default <T> CompletableFuture<HttpResponse<T>> send(
            HttpRequest request, Place place, HttpResponse.BodyHandler<T> handler) {
        return checked(handler, checking -> exchange(request, place, checking));
    }

    /** Sends a request without a look at the headers of its answer. */
    <T> CompletableFuture<HttpResponse<T>> exchange(
            HttpRequest request, Place place, HttpResponse.BodyHandler<T> handler);

    /** Returns the answer of an exchange; a failure as soon as its headers have a fault. */
    static <T> CompletableFuture<HttpResponse<T>> checked(
            HttpResponse.BodyHandler<T> handler,
            Function<HttpResponse.BodyHandler<T>, CompletableFuture<HttpResponse<T>>> exchange) {
        CompletableFuture<HttpResponse<T>> answer = new CompletableFuture<>();
        CompletableFuture<HttpResponse<T>> sent = exchange.apply(info -> {
            AnswerHead.of(info).fault().ifPresent(
                    fault -> answer.completeExceptionally(new ProtocolException(fault)));
            return answer.isCompletedExceptionally() ? new NoBody<>() : handler.apply(info);
        });
        sent.whenComplete((response, failure) -> end(answer, response, failure));
        answer.whenComplete((response, failure) -> {
            if (failure != null) {
                sent.cancel(true);
            }
        });
        return answer;
    }

    private static <T> void end(CompletableFuture<T> answer, T response, @Nullable Throwable failure) {
        if (failure == null) {
            answer.complete(response);
        } else {
            boolean isWrapped = failure instanceof CompletionException && failure.getCause() != null;
            answer.completeExceptionally(isWrapped ? failure.getCause() : failure);
        }
    }
}
