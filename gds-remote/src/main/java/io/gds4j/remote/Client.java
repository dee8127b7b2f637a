package io.gds4j.remote;

import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.concurrent.CompletableFuture;

/** Sends requests, and follows no redirects. Thread-safe. */
sealed interface Client permits SharedClient, NativeClient {
    /**
     * Sends a request.
     *
     * @param place where the request goes
     * @param handler its body must copy the bytes that it gets: they may be memory that is used again
     * @return the whole answer, or what kept it away; cancelling it ends the request
     */
    <T> CompletableFuture<HttpResponse<T>> send(
            HttpRequest request, Place place, HttpResponse.BodyHandler<T> handler);
}
