package io.gds4j.remote;

import io.gds4j.error.CuFileException;
import io.gds4j.source.RangeSource;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.BlockingDeque;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingDeque;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Connections that sources share: each a client of a native library, or part of a client of the JDK. One thread of such a client reads
 * all its connections, 1 to 1.5 GB/s, so there are several. Thread-safe.
 */
final class HttpConnections {
    /** Largest number of clients. On two busy processors 16 read 10 % more than two. */
    private static final int MAX_CLIENTS = 16;
    private static final long POLL_MILLIS = 50;

    private final HttpOptions options;
    private final Signer signer;
    private final ConnectionCount count;
    private final List<SharedClient> clients;
    private volatile boolean answered;
    private final AtomicInteger made = new AtomicInteger();

    /** Connections to take away. */
    private final AtomicInteger excess = new AtomicInteger();

    /** Each client as often as it may have connections. The last one that was used is first: its connection is open. */
    private final BlockingDeque<Client> free = new LinkedBlockingDeque<>();

    /** Parts that found no connection. */
    private final Queue<RangePart> waiting = new ConcurrentLinkedQueue<>();

    /**
     * @param options settings of all requests
     * @param signer signs the requests to the server of the URL
     */
    HttpConnections(HttpOptions options, Signer signer) {
        this(options, signer, System::nanoTime);
    }

    HttpConnections(HttpOptions options, Signer signer, LongSupplier clock) {
        this.options = options;
        this.signer = signer;
        count = new ConnectionCount(options, (long) options.partBytes() * HttpSource.MAX_TIMES, clock);
        clients = Stream.generate(() -> new SharedClient(options)).limit(Math.min(count.now(), MAX_CLIENTS)).toList();
        add(count.now());
    }

    private void add(int connections) {
        for (int i = 0; i < connections; i++) {
            SharedClient ofJdk = clients.get(made.getAndIncrement() % clients.size());
            release(NativeClient.of(options, ofJdk).orElse(ofJdk));
        }
    }

    /** Returns how many connections there may be now. */
    int count() {
        return count.now();
    }

    /** Returns the bytes of the shortest part of a read now. */
    long leastBytes() {
        return count.leastBytes();
    }

    HttpOptions options() {
        return options;
    }

    Signer signer() {
        return signer;
    }

    <T> HttpResponse<T> send(
            HttpRequest request, HttpResponse.BodyHandler<T> handler, LongSupplier bytes, Attempts attempts)
            throws InterruptedException, ExecutionException {
        return send(request, handler, bytes, attempts, Long.MAX_VALUE, Duration.ZERO);
    }

    /**
     * Sends a request when there is a connection, and waits for the whole answer.
     *
     * @param bytes bytes sent or received so far
     * @param patience longest time in nanoseconds until there is a connection
     * @param grace longest time that an interrupted thread waits for the answer to a request that was sent; the thread stays interrupted
     * @throws CuFileException if there is no progress for too long
     */
    <T> HttpResponse<T> send(
            HttpRequest request, HttpResponse.BodyHandler<T> handler, LongSupplier bytes, Attempts attempts,
            long patience, Duration grace) throws InterruptedException, ExecutionException {
        Client client = free.pollFirst();
        if (client == null) {
            client = free.pollFirst(patience, TimeUnit.NANOSECONDS);
            if (client == null) {
                throw attempts.noConnection();
            }
            attempts.restartClock();
        }
        @Nullable CompletableFuture<HttpResponse<T>> answer = null;
        try {
            answer = client.send(request, handler);
            while (true) {
                try {
                    HttpResponse<T> whole = answer.get(POLL_MILLIS, TimeUnit.MILLISECONDS);
                    answered = true;
                    return whole;
                } catch (TimeoutException e) {
                    attempts.progress(bytes.getAsLong());
                }
            }
        } catch (InterruptedException e) {
            if (answer == null || grace.isZero()) {
                throw e;
            }
            return late(answer, grace, e);
        } finally {
            release(client);
            if (answer != null) {
                answer.cancel(true);
            }
        }
    }

    /** Returns a remark on a failure: a port of TLS closes plain connections without an answer. Empty if a server has answered. */
    String remark(URI uri, @Nullable Throwable failure) {
        boolean isClosed = failure instanceof IOException && !RemoteFailure.isUnsent(failure)
                && !(failure instanceof HttpTimeoutException || failure instanceof SocketTimeoutException);
        return isClosed && !answered && "http".equalsIgnoreCase(uri.getScheme())
                ? ": perhaps this port wants https" : "";
    }

    private static <T> T late(CompletableFuture<T> answer, Duration grace, InterruptedException interrupted)
            throws InterruptedException {
        try {
            T late = answer.get(grace.toMillis(), TimeUnit.MILLISECONDS);
            Thread.currentThread().interrupt();
            return late;
        } catch (TimeoutException | ExecutionException e) {
            throw interrupted;
        }
    }

    /** Takes a connection for a part, or wakes the part once one may be free. */
    Optional<Client> tryAcquire(RangePart part) {
        Client client = free.pollFirst();
        if (client == null) {
            waiting.add(part);
            client = free.pollFirst(); // released before the part was seen to wait
            if (client != null) {
                forget(part);
            }
        }
        if (client != null) {
            count.begins();
        }
        return Optional.ofNullable(client);
    }

    /**
     * Releases the connection of a part.
     *
     * @param isLeast whether the part is the shortest that may be: more connections would let it be shorter
     */
    void release(Client client, long received, boolean isLeast) {
        int more = count.ends(received, isLeast || !waiting.isEmpty());
        excess.addAndGet(Math.max(0, -more));
        release(client);
        add(more);
    }

    /** Releases the connection of a part that its reader gave up. */
    void giveUp(Client client, long received) {
        count.isGivenUp(received);
        release(client);
    }

    /** Wakes a part no more. */
    void forget(RangePart part) {
        waiting.remove(part);
    }

    private void release(Client client) {
        if (excess.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
            return; // its thread ends some seconds later
        }
        free.addFirst(client);
        RangePart next = waiting.poll();
        if (next != null) {
            next.wake();
        }
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
            throw new HttpTimeoutException("no whole answer within %s ms".formatted(timeout.toMillis()));
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
