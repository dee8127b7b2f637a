package io.gds4j.remote;

import io.gds4j.internal.http.HttpClients;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ProxySelector;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.security.KeyStoreException;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/**
 * The client of the JDK, which several connections share. Starts at its first request, and ends with its thread and connections some seconds
 * after the last one. Thread-safe.
 */
final class SharedClient implements Client {
    private static final String NAME = "JDK " + Runtime.version().feature();

    /** Runs on the JDK's own thread of delays. */
    private static final Executor LATER =
            CompletableFuture.delayedExecutor(NativeClient.IDLE_SECONDS, TimeUnit.SECONDS, Runnable::run);

    /** What waits for the end of the client keeps it. */
    private final ClientPool pool;
    private @Nullable HttpClient client;

    /** What the client took from the JVM when it was made. */
    private List<@Nullable Object> ofJvm = List.of();
    private int running;
    private boolean isWatched;
    private boolean wasUsed;

    SharedClient(ClientPool pool) {
        this.pool = pool;
    }

    @Override
    public <T> CompletableFuture<HttpResponse<T>> exchange(
            HttpRequest request, Place place, HttpResponse.BodyHandler<T> handler) {
        Optional<String> problem = "https".equalsIgnoreCase(request.uri().getScheme())
                ? pool.options().tlsProblem() : Optional.empty();
        if (problem.isPresent()) {
            // the JDK's client names classes of the JDK, and attempts a handshake that cannot succeed
            return CompletableFuture.failedFuture(new KeyStoreException(problem.get()));
        }
        HttpClients.uses(NAME);
        HttpClient open;
        try {
            place.addresses(pool.options()); // The JVM keeps them, and the client gets the same.
            open = begin();
        } catch (UncheckedIOException e) {
            return CompletableFuture.failedFuture(e.getCause()); // no descriptor is left for its selector
        } catch (IOException e) {
            return CompletableFuture.failedFuture(e);
        }
        try {
            CompletableFuture<HttpResponse<T>> answer = open.sendAsync(request, handler);
            answer.whenComplete((response, failure) -> end());
            return answer;
        } catch (RuntimeException | Error e) {
            end();
            throw e;
        }
    }

    private synchronized HttpClient begin() {
        List<@Nullable Object> now = ofJvm();
        HttpClient known = client;
        if (known == null || known.isTerminated() || !now.equals(ofJvm)) { // an error, or an interrupt, ends its thread
            known = made();
            client = known;
            ofJvm = now;
        }
        running++;
        wasUsed = true;
        return known;
    }

    /** Returns what the options say of TLS; empty for the JVM's. */
    private Optional<SSLContext> ownTls() {
        return pool.options().tls().or(() -> pool.options().trust().flatMap(PemTrust::context));
    }

    private synchronized void end() {
        running--;
        watch();
    }

    /** Looks again in some seconds, while there is a client. */
    private void watch() {
        if (!isWatched && client != null) {
            isWatched = true;
            wasUsed = false;
            LATER.execute(this::look);
        }
    }

    private synchronized void look() {
        isWatched = false;
        HttpClient known = client;
        if (known != null && running == 0 && !wasUsed) {
            client = null;
            known.shutdownNow();
        } else {
            watch();
        }
    }

    /** Returns what a program may replace meanwhile: a client keeps what it was made with. */
    private List<@Nullable Object> ofJvm() {
        try {
            return Arrays.asList(
                    ProxySelector.getDefault(), ownTls().isPresent() ? null : SSLContext.getDefault());
        } catch (NoSuchAlgorithmException e) {
            return List.of(); // the client fails by it, too
        }
    }

    /** Makes a client. HTTP/1.1, because HTTP/2 would send all ranges through one connection. */
    private HttpClient made() {
        HttpClient.Builder builder = HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .followRedirects(HttpClient.Redirect.NEVER)
                .connectTimeout(pool.options().connectTimeout())
                // The thread that has read bytes copies them while they are in its cache: 20 % less processor time
                // than a thread for each delivery. Nothing of ours blocks it.
                .executor(Runnable::run);
        pool.options().proxy().ifPresent(builder::proxy);
        ownTls().ifPresent(builder::sslContext);
        return builder.build();
    }
}
