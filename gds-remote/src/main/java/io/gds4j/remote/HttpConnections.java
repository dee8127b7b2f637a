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
import java.util.Collections;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The connections to one server that sources with equal options and credentials share: each a client of a native library, or part of a client
 * of the JDK. One thread of such a client reads all its connections, 1 to 1.5 GB/s, so there are several. Thread-safe.
 */
final class HttpConnections {
    private static final long POLL_MILLIS = 50;

    /** What sources and paths still have: what is known of a server is forgotten with the last one. */
    private static final Set<Shared> KNOWN = Collections.newSetFromMap(new WeakHashMap<>());

    private final HttpOptions options;
    private final Signer signer;
    private final Shared shared;

    /** @param credentials equal if those of the requests are equal */
    private record Key(String server, HttpOptions options, Object credentials) {
    }

    /** What requests to one server with equal options and credentials have in common. */
    private static final class Shared {
        final Key key;
        final ConnectionCount count;
        final ClientPool pool;

        /** As many as there may be more requests. */
        final Semaphore free;

        /** Reads in progress. */
        final AtomicInteger reads = new AtomicInteger();

        /** Connections to take away. */
        final AtomicInteger excess = new AtomicInteger();

        /** Parts that found no connection. */
        final Queue<RangePart> waiting = new ConcurrentLinkedQueue<>();

        volatile boolean answered;

        Shared(Key key, LongSupplier clock) {
            this.key = key;
            HttpOptions options = key.options;
            count = new ConnectionCount(options, (long) options.partBytes() * HttpSource.MAX_TIMES, clock);
            pool = ClientPool.of(options, key.credentials);
            free = new Semaphore(count.now());
        }
    }

    private HttpConnections(HttpOptions options, Signer signer, Shared shared) {
        this.options = options;
        this.signer = signer;
        this.shared = shared;
    }

    /** Makes connections that others do not share. */
    HttpConnections(HttpOptions options, Signer signer, LongSupplier clock) {
        this(options, signer, new Shared(new Key("", options, signer), clock));
    }

    /**
     * Returns the connections to the server of a URL.
     *
     * @param signer signs the requests to the server of the URL
     * @param credentials equal if those of the requests are equal, whichever object signs
     */
    static HttpConnections of(URI uri, HttpOptions options, Signer signer, Object credentials) {
        Key key = new Key(ObjectName.origin(uri), options, credentials);
        synchronized (KNOWN) {
            Shared there = KNOWN.stream().filter(known -> known.key.equals(key)).findAny()
                    .orElseGet(() -> new Shared(key, System::nanoTime));
            KNOWN.add(there);
            return new HttpConnections(options, signer, there);
        }
    }

    /** Returns the connections to the server of a URL, for requests that are not signed. */
    static HttpConnections of(URI uri, HttpOptions options) {
        return of(uri, options, Signer.NONE, Signer.NONE);
    }

    /** Returns how many connections there may be now. */
    int count() {
        return shared.count.now();
    }

    /**
     * Begins a read. Parts for more connections than its share would only wait, and each costs a request, to some servers a connection.
     *
     * @return the connections for each read that is in progress
     */
    int begin() {
        return Math.max(1, count() / shared.reads.incrementAndGet());
    }

    /** Ends a read. */
    void end() {
        shared.reads.decrementAndGet();
    }

    /** Returns the bytes of the shortest part of a read now. */
    long leastBytes() {
        return shared.count.leastBytes();
    }

    HttpOptions options() {
        return options;
    }

    Signer signer() {
        return signer;
    }

    <T> HttpResponse<T> send(
            HttpRequest request, Place place, HttpResponse.BodyHandler<T> handler, LongSupplier bytes,
            Attempts attempts)
            throws InterruptedException, ExecutionException {
        return send(request, place, handler, bytes, attempts, Long.MAX_VALUE, Duration.ZERO);
    }

    /**
     * Sends a request to a place that the program names when there is a connection, and waits for the whole answer.
     *
     * @param bytes bytes sent or received so far
     * @param patience longest time in nanoseconds until there is a connection
     * @param grace longest time that an interrupted thread waits for the answer to a request that was sent; the thread stays interrupted
     * @throws CuFileException if there is no progress for too long
     */
    <T> HttpResponse<T> send(
            HttpRequest request, HttpResponse.BodyHandler<T> handler, LongSupplier bytes, Attempts attempts,
            long patience, Duration grace) throws InterruptedException, ExecutionException {
        return send(request, Place.of(request.uri()), handler, bytes, attempts, patience, grace);
    }

    private <T> HttpResponse<T> send(
            HttpRequest request, Place place, HttpResponse.BodyHandler<T> handler, LongSupplier bytes,
            Attempts attempts,
            long patience, Duration grace) throws InterruptedException, ExecutionException {
        if (!shared.free.tryAcquire()) {
            if (!shared.free.tryAcquire(patience, TimeUnit.NANOSECONDS)) {
                throw attempts.noConnection();
            }
            attempts.restartClock();
        }
        Client client = take();
        @Nullable CompletableFuture<HttpResponse<T>> answer = null;
        try {
            answer = client.send(request, place, info -> {
                shared.answered = true;
                return handler.apply(info);
            });
            while (true) {
                try {
                    return answer.get(POLL_MILLIS, TimeUnit.MILLISECONDS);
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
                && (RemoteFailure.broken(failure).isEmpty() || RemoteFailure.isNoAnswer(failure))
                && !(failure instanceof HttpTimeoutException || failure instanceof SocketTimeoutException);
        return isClosed && !shared.answered && "http".equalsIgnoreCase(uri.getScheme())
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
        boolean mayBegin = shared.free.tryAcquire();
        if (!mayBegin) {
            shared.waiting.add(part);
            mayBegin = shared.free.tryAcquire(); // released before the part was seen to wait
            if (mayBegin) {
                forget(part);
            }
        }
        if (!mayBegin) {
            return Optional.empty();
        }
        Client client = take();
        shared.count.begins();
        return Optional.of(client);
    }

    /** Takes a client for a connection that is free, and stays so if no client can be made. */
    private Client take() {
        Client client = null;
        try {
            client = shared.pool.take();
            return client;
        } finally {
            if (client == null) {
                free();
            }
        }
    }

    /**
     * Releases the connection of a part.
     *
     * @param usesMore whether more connections would let the part be shorter
     */
    void release(Client client, long received, boolean usesMore) {
        int more = shared.count.ends(received, usesMore || !shared.waiting.isEmpty());
        shared.excess.addAndGet(Math.max(0, -more));
        release(client);
        for (int i = 0; i < more; i++) {
            free();
        }
    }

    /** Releases the connection of a part that its reader gave up. */
    void giveUp(Client client, long received) {
        shared.count.isGivenUp(received);
        release(client);
    }

    /** Wakes a part no more. */
    void forget(RangePart part) {
        shared.waiting.remove(part);
    }

    private void release(Client client) {
        try {
            shared.pool.give(client);
        } finally {
            if (shared.excess.getAndUpdate(left -> Math.max(0, left - 1)) == 0) {
                free();
            }
        }
    }

    private void free() {
        shared.free.release();
        RangePart next = shared.waiting.poll();
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
        CompletableFuture<HttpResponse<T>> answer =
                Client.checked(handler, checking -> client.sendAsync(request, checking));
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
