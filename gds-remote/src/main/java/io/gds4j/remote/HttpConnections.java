package io.gds4j.remote;

import io.gds4j.source.RangeSource;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Connections that sources share. HTTP/1.1, because HTTP/2 would send all ranges through one connection.
 *
 * @param client sends requests; its connections are kept for the next ones
 * @param free requests that may begin now
 * @param options settings of all requests
 * @param signer signs the requests to the server of the URL
 */
record HttpConnections(HttpClient client, Semaphore free, HttpOptions options, Signer signer) {
    static HttpConnections of(HttpOptions options, Signer signer) {
        HttpClient.Builder builder = HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .followRedirects(HttpClient.Redirect.NEVER)
                .connectTimeout(options.connectTimeout());
        options.proxy().ifPresent(builder::proxy);
        options.tls().ifPresent(builder::sslContext);
        return new HttpConnections(builder.build(), new Semaphore(options.connections()), options, signer);
    }

    /**
     * Sends a request and waits for the whole answer: the client's own timeout ends with the headers.
     *
     * @throws IOException if the request fails, or there is no whole answer in time
     */
    static <T> HttpResponse<T> send(
            HttpClient client, HttpRequest request, HttpResponse.BodyHandler<T> handler, Duration timeout)
            throws IOException, InterruptedException {
        CompletableFuture<HttpResponse<T>> answer = client.sendAsync(request, handler);
        try {
            return answer.get(timeout.toNanos(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            throw new HttpTimeoutException("no whole answer within %d ms".formatted(timeout.toMillis()));
        } catch (ExecutionException e) {
            throw e.getCause() instanceof IOException known ? known : new IOException(e.getCause());
        } finally {
            answer.cancel(true);
        }
    }

    /** Opens an object, behind the cache if there is one. */
    RangeSource open(URI uri) {
        HttpSource source = HttpSource.open(uri, this);
        return options.cache().isEmpty() || !source.version().canBeDemanded() ? source
                : new CachedSource(source, options.cache().get());
    }
}
