package io.gds4j.remote;

import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.security.KeyStoreException;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** The client of the JDK, which several connections share; starts at its first request. Thread-safe. */
final class SharedClient implements Client {
    private final HttpOptions options;
    private @Nullable HttpClient client;

    SharedClient(HttpOptions options) {
        this.options = options;
    }

    @Override
    public <T> CompletableFuture<HttpResponse<T>> send(HttpRequest request, HttpResponse.BodyHandler<T> handler) {
        Optional<String> problem = options.tls().isEmpty() && "https".equalsIgnoreCase(request.uri().getScheme())
                ? Authorities.problem() : Optional.empty();
        if (problem.isPresent()) {
            // the JDK's client names classes of the JDK, and attempts a handshake that cannot succeed
            return CompletableFuture.failedFuture(new KeyStoreException(problem.get()));
        }
        return get().sendAsync(request, handler);
    }

    /** Returns the client. HTTP/1.1, because HTTP/2 would send all ranges through one connection. */
    private synchronized HttpClient get() {
        HttpClient known = client;
        if (known == null) {
            HttpClient.Builder builder = HttpClient.newBuilder()
                    .version(HttpClient.Version.HTTP_1_1)
                    .followRedirects(HttpClient.Redirect.NEVER)
                    .connectTimeout(options.connectTimeout())
                    // The thread that has read bytes copies them while they are in its cache: 20 % less processor time
                    // than a thread for each delivery. Nothing of ours blocks it.
                    .executor(Runnable::run);
            options.proxy().ifPresent(builder::proxy);
            options.tls().ifPresent(builder::sslContext);
            known = builder.build();
            client = known;
        }
        return known;
    }
}
