package io.gds4j.remote;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.source.Cancellation;
import io.gds4j.source.RangeSource;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/**
 * An object of an HTTP server, read by ranges over several connections. Body bytes go straight into the memory of the reader.
 *
 * <pre>{@code
 * HttpSource source = HttpSource.open(URI.create("https://example.com/model.bin"), HttpOptions.DEFAULTS);
 * try (CuFileHandle file = driver.openSource(source)) {
 *     file.read(memory.range(), 0);
 * }
 * }</pre>
 *
 * <p>
 * The object must stay the same: its size and ETag are those of the first answer, and later requests demand them by
 * {@code If-Match}. Failures that may pass, such as status 503 or a broken connection, are repeated from the byte that is
 * missing. Messages name URL and range, without user, password and query. Immutable and thread-safe; needs no close.
 *
 * @since 0.1
 */
public final class HttpSource implements RangeSource {
    private static final long POLL_MILLIS = 50;

    /** Longest part of a long read, in parts: fewer requests wait for a distant server, or open a connection to one that closes it. */
    static final int MAX_TIMES = 4;

    private final HttpConnections connections;
    private final URI uri;
    private final String basic;
    private final ObjectVersion version;

    /** The first bytes of the object. */
    private final MemorySegment head;

    /** Where the object is now; a server may redirect later, too. */
    private volatile Place place;

    HttpSource(HttpConnections connections, URI uri, String basic, Place place, ObjectVersion version,
            MemorySegment head) {
        this.connections = connections;
        this.uri = uri;
        this.basic = basic;
        this.place = place;
        this.version = version;
        this.head = head;
    }

    /**
     * Opens an object: asks for its first bytes, and so for its size and version. All objects of a server that are opened with equal options
     * share connections: as many as {@link HttpOptions#connections} says, each with a thread while it is used.
     *
     * @param uri an http or https URL; user and password, if it has them, are sent as Basic authentication
     * @param options settings
     * @return the source
     * @throws CuFileException INVALID_VALUE for another URL; IO_ERROR if the object cannot be read: ENOENT if there is none,
     *         EACCES without access, ETIMEDOUT without progress, EIO otherwise
     * @throws io.gds4j.error.CuFileInterruptedException if the thread is interrupted; its flag stays set
     */
    public static HttpSource open(URI uri, HttpOptions options) {
        Objects.requireNonNull(options, "options");
        if (!ObjectName.isHttp(uri)) {
            throw CuFileException.invalid("HttpSource.open", ObjectName.notHttp(uri));
        }
        return open(uri, HttpConnections.of(uri, options));
    }

    static HttpSource open(URI uri, HttpConnections connections) {
        String user = uri.getUserInfo();
        String basic = user == null ? ""
                : "Basic " + Base64.getEncoder().encodeToString(user.getBytes(StandardCharsets.UTF_8));
        try {
            return new FirstRequest(connections, ObjectName.ascii(uri), basic).run();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw CuFileException.builder("HttpSource.open")
                    .error(CuFileError.IO_ERROR)
                    .errno(Errno.EINTR)
                    .detail("interrupted while %s was opened".formatted(ObjectName.shown(uri)))
                    .cause(e)
                    .buildInterrupted();
        }
    }

    @Override
    public long size() {
        return version.size();
    }

    @Override
    public String identity() {
        return ObjectName.shown(uri);
    }

    /** {@return the ETag if it is a strong one} */
    @Override
    public Optional<String> contentVersion() {
        return version.canBeDemanded() ? Optional.of("ETag " + version.etag()) : Optional.empty();
    }

    @Override
    public long preferredRequestBytes() {
        return (long) options().partBytes() * ConnectionCount.first(options()) * MAX_TIMES;
    }

    /**
     * {@inheritDoc}
     *
     * @throws CuFileException IO_ERROR with URL and range if the range cannot be read, or if the object changed
     */
    @Override
    public long read(long offset, MemorySegment target, Cancellation cancellation) throws InterruptedException {
        long count = Math.clamp(version.size() - offset, 0, target.byteSize());
        long known = Math.clamp(head.byteSize() - offset, 0, count);
        if (known > 0) {
            MemorySegment.copy(head, offset, target, 0, known);
        }
        if (known < count) {
            readParts(offset + known, target.asSlice(known, count - known), cancellation);
        }
        return count;
    }

    private void readParts(long offset, MemorySegment target, Cancellation cancellation) throws InterruptedException {
        Semaphore wake = new Semaphore(0);
        List<RangePart> parts = new ArrayList<>();
        long least = connections.leastBytes();
        long most = (long) options().partBytes() * MAX_TIMES;
        int share = connections.begin();
        try {
            long size = Math.clamp(Math.ceilDiv(target.byteSize(), share), least, most);
            boolean usesMore = size == least || share < connections.count();
            for (long at = 0; at < target.byteSize(); at += size) {
                MemorySegment into = target.asSlice(at, Math.min(size, target.byteSize() - at));
                parts.add(new RangePart(
                        this, offset + at, into, usesMore && into.byteSize() == size, wake::release));
            }
            boolean done = false;
            while (!done) {
                if (cancellation.isCancelled()) {
                    throw new InterruptedException("the request has ended");
                }
                done = true;
                for (RangePart part : parts) {
                    if (!part.isDone()) {
                        part.step();
                        done &= part.isDone();
                    }
                }
                if (!done) {
                    wake.tryAcquire(POLL_MILLIS, TimeUnit.MILLISECONDS);
                    wake.drainPermits();
                }
            }
        } finally {
            parts.forEach(RangePart::abandon);
            connections.end();
        }
    }

    /** Returns whether the first answer had these bytes. */
    boolean isKnown(long offset, long count) {
        return offset + count <= head.byteSize();
    }

    HttpOptions options() {
        return connections.options();
    }

    ObjectVersion version() {
        return version;
    }

    URI uri() {
        return uri;
    }

    HttpConnections connections() {
        return connections;
    }

    /** Returns where the next request goes. */
    Place place() {
        return place;
    }

    CompletableFuture<HttpResponse<String>> send(
            Client client, Place to, long first, long size, HttpResponse.BodyHandler<String> handler) {
        String range = "bytes=" + first + "-" + (first + size - 1);
        Map<String, String> more = version.canBeDemanded() ? Map.of("Range", range, "If-Match", version.etag())
                : Map.of("Range", range);
        return client.send(request(connections, uri, to.uri(), basic, more).build(), to, handler);
    }

    /**
     * Returns a request. Credentials go to the origin that the program named only.
     *
     * @param more further headers
     */
    static HttpRequest.Builder request(
            HttpConnections connections, URI uri, URI place, String basic, Map<String, String> more) {
        HttpRequest.Builder request = HttpRequest.newBuilder(withoutUser(place))
                .GET()
                .header("Accept-Encoding", "identity");
        boolean isOwn = ObjectName.isSameOrigin(uri, place);
        Map<String, String> sent = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        sent.putAll(isOwn ? connections.options().headers() : Map.of());
        sent.putAll(more);
        sent.forEach(request::setHeader);
        if (isOwn) {
            connections.signer().headers("GET", place, Signer.EMPTY_BODY, sent).forEach(request::setHeader);
            if (!basic.isEmpty()) {
                request.setHeader("Authorization", basic);
            }
        }
        return request;
    }

    private static URI withoutUser(URI uri) {
        String user = uri.getRawUserInfo();
        return user == null ? uri : URI.create(uri.toString().replaceFirst(
                Pattern.quote(user + "@"), ""));
    }

    /**
     * Follows a redirect. It leads on from where the request went: another part may have been redirected meanwhile.
     *
     * @param from where the request went
     * @return false if the answer is no redirect
     * @throws CuFileException if the redirect is not allowed
     */
    boolean redirected(Place from, HttpResponse<String> response, long offset, long size) {
        Optional<Place> to = redirect(uri, from, response, options(), offset, size);
        to.ifPresent(next -> place = next);
        return to.isPresent();
    }

    /** Asks the program's URL again if the place of a redirect refuses: signed URLs expire. False if that URL itself refused. */
    boolean restarted(Place from, HttpResponse<String> response) {
        boolean refused = switch (response.statusCode()) {
            case 400, 401, 403, 404, 410 -> true;
            default -> false;
        };
        if (refused && from.uri().equals(place.uri())) {
            place = Place.of(uri);
        }
        return refused && !from.uri().equals(uri);
    }

    static Optional<Place> redirect(
            URI uri, Place place, HttpResponse<String> response, HttpOptions options, long offset, long size) {
        int status = response.statusCode();
        if (status != 301 && status != 302 && status != 303 && status != 307 && status != 308) {
            return Optional.empty();
        }
        String location = AnswerHead.of(response).location();
        URI to;
        try {
            to = ObjectName.resolved(place.uri(), location);
        } catch (IllegalArgumentException e) {
            // The cause would name the place, and so perhaps a signature.
            throw RemoteFailure.of(
                    uri, offset, size, Errno.EIO, "status %s with a bad Location".formatted(status), null);
        }
        String meaning = RemoteFailure.meaning(AnswerHead.of(response), response.body());
        String refusal = location.isEmpty()
                ? meaning + (meaning.contains(" region ") ? "" : ": the answer has no Location")
                : ObjectName.refusal(place.uri(), to, options);
        if (!refusal.isEmpty()) {
            throw RemoteFailure.of(uri, offset, size, Errno.EIO, refusal, null);
        }
        return Optional.of(place.redirected(to, options));
    }

    @Override
    public String toString() {
        return "HttpSource[%s, %s bytes]".formatted(identity(), size());
    }
}
