package io.gds4j.remote;

import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** Opens an object: finds its place, size and version, and reads its first bytes. Used by one thread. */
final class FirstRequest {
    private static final int HEAD_BYTES = 64 << 10;
    private static final long POLL_MILLIS = 50;
    private static final long PROGRESS = 64 << 10;

    private final HttpConnections connections;
    private final HttpOptions options;
    private final URI uri;
    private final String basic;
    private URI place;
    private int redirects;

    FirstRequest(HttpConnections connections, URI uri, String basic) {
        this.connections = connections;
        this.options = connections.options();
        this.uri = uri;
        this.basic = basic;
        this.place = uri;
    }

    HttpSource run() throws InterruptedException {
        long begun = System.nanoTime();
        int failures = 0;
        while (true) {
            String why;
            Throwable cause = null;
            try {
                Optional<HttpSource> opened = attempt();
                if (opened.isPresent()) {
                    return opened.get();
                }
                continue;
            } catch (ExecutionException e) {
                cause = e.getCause();
                why = cause.getMessage() == null ? cause.getClass().getSimpleName()
                        : cause.getClass().getSimpleName() + ": " + cause.getMessage();
            } catch (Passing e) {
                why = String.valueOf(e.getMessage());
            }
            failures++;
            if (failures >= options.attempts()) {
                throw failure(Errno.EIO, "%s (%s attempts)".formatted(why, failures), cause);
            }
            if (System.nanoTime() - begun >= options.stallTimeout().toNanos()) {
                throw failure(Errno.ETIMEDOUT, "no progress; the last failure: " + why, cause);
            }
            TimeUnit.NANOSECONDS.sleep(options.backoff().toNanos() << Math.min(failures - 1, 4));
        }
    }

    /** A failure that may pass. */
    private static final class Passing extends Exception {
        private static final long serialVersionUID = 1L;

        Passing(String message) {
            super(message);
        }
    }

    /** Returns the source; empty after a redirect. */
    private Optional<HttpSource> attempt() throws InterruptedException, ExecutionException, Passing {
        MemorySegment head = MemorySegment.ofArray(new byte[HEAD_BYTES]);
        RangeBody body = new RangeBody(head);
        HttpRequest request = HttpSource.request(connections, uri, place, basic)
                .header("Range", "bytes=0-" + (HEAD_BYTES - 1)).build();
        HttpResponse<Void> response = await(request, info -> info.statusCode() == 206 ? body : dropped(), body);
        int status = response.statusCode();
        HttpHeaders headers = response.headers();
        Optional<URI> to = HttpSource.redirect(uri, place, status, headers, options, 0, HEAD_BYTES);
        if (to.isPresent()) {
            redirects++;
            if (redirects > options.redirects()) {
                throw failure(Errno.EIO, "more than %s redirects".formatted(options.redirects()), null);
            }
            place = to.get();
            return Optional.empty();
        }
        if (RangePart.isTransient(status)) {
            throw new Passing(RemoteFailure.meaning(status));
        }
        if (status == 416) {
            return empty(headers);
        }
        if (status == 200) {
            return sequential();
        }
        if (status != 206) {
            throw failure(RemoteFailure.errno(status), RemoteFailure.meaning(status), null);
        }
        ContentRange range = ContentRange.parse(headers.firstValue("Content-Range").orElse(""))
                .filter(parsed -> parsed.first() == 0
                        && parsed.last() == Math.min(HEAD_BYTES, parsed.total()) - 1)
                .orElseThrow(() -> failure(Errno.EIO, headers.firstValue("Content-Range").isPresent()
                        ? "wrong Content-Range" : "status 206 without Content-Range", null));
        Optional<String> encoded = ObjectVersion.encoded(headers);
        if (encoded.isPresent()) {
            throw failure(Errno.EIO, encoded.get(), null);
        }
        long expected = range.last() + 1;
        if (body.isTooLong() || body.received() > expected) {
            throw failure(Errno.EIO, "the body is longer than the range", null);
        }
        if (body.received() < expected) {
            throw new Passing("the body ends %s bytes early".formatted(expected - body.received()));
        }
        return source(ObjectVersion.of(range.total(), headers), head.asSlice(0, expected));
    }

    /** Opens an object whose first bytes do not exist. Not every server tells that its size is 0: the whole object does. */
    private Optional<HttpSource> empty(HttpHeaders refused) throws InterruptedException, ExecutionException {
        String range = refused.firstValue("Content-Range").orElse("");
        if (ContentRange.totalOfUnsatisfied(range) == 0) {
            return source(ObjectVersion.of(0, refused), MemorySegment.NULL);
        }
        if (!range.isEmpty()) {
            throw failure(Errno.EIO, RemoteFailure.meaning(416), null);
        }
        RangeBody body = new RangeBody(MemorySegment.ofArray(new byte[1]));
        HttpRequest request = HttpSource.request(connections, uri, place, basic).build();
        HttpResponse<Void> whole = await(request, info -> info.statusCode() == 200 ? body : dropped(), body);
        if (whole.statusCode() != 200 || body.received() > 0 || body.isTooLong()) {
            throw failure(Errno.EIO, RemoteFailure.meaning(416), null);
        }
        return source(ObjectVersion.of(0, whole.headers()), MemorySegment.NULL);
    }

    private Optional<HttpSource> source(ObjectVersion version, MemorySegment head) {
        return Optional.of(new HttpSource(connections, uri, basic, place, version, head));
    }

    /** Reads the whole object into a temporary file, which nothing else can open. */
    private Optional<HttpSource> sequential() throws InterruptedException, ExecutionException, Passing {
        if (options.sequential() == 0) {
            throw failure(
                    Errno.EIO, "the server has no ranges: it sent the whole object; HttpOptions.withSequential reads it"
                            + " once from its beginning",
                    null);
        }
        HttpRequest request = HttpSource.request(connections, uri, place, basic).build();
        CompletableFuture<RangeBody> begun = new CompletableFuture<>();
        CompletableFuture<CuFileException> refused = new CompletableFuture<>();
        HttpResponse<Void> response = await(request, info -> {
            long length = info.headers().firstValueAsLong("Content-Length").orElse(-1);
            RangeBody body = dropped();
            if (info.statusCode() == 200 && length > 0) {
                try {
                    body = new RangeBody(temporary(length));
                } catch (CuFileException e) {
                    refused.complete(e);
                }
            }
            begun.complete(body);
            return body;
        }, begun);
        if (refused.isDone()) {
            throw refused.join();
        }
        HttpHeaders headers = response.headers();
        long length = headers.firstValueAsLong("Content-Length").orElse(-1);
        if (RangePart.isTransient(response.statusCode())) {
            throw new Passing(RemoteFailure.meaning(response.statusCode()));
        }
        if (response.statusCode() != 200 || length < 0) {
            throw failure(Errno.EIO, "the server has no ranges and does not tell the size", null);
        }
        Optional<String> encoded = ObjectVersion.encoded(headers);
        if (encoded.isPresent()) {
            throw failure(Errno.EIO, encoded.get(), null);
        }
        RangeBody body = begun.join();
        if (body.isFull()) {
            throw full(length);
        }
        if (body.received() != length) {
            throw new Passing("the body ends %s bytes early".formatted(length - body.received()));
        }
        return source(ObjectVersion.of(length, headers), body.target());
    }

    /** Makes memory of a file. The server names the size: it must be within the limit, and the disk must have room. */
    private MemorySegment temporary(long length) {
        if (length > options.sequential()) {
            throw failure(
                    Errno.EFBIG,
                    "the server has no ranges, and the object has %s bytes; HttpOptions.withSequential allows %s"
                            .formatted(length, options.sequential()),
                    null);
        }
        try {
            Path file = Files.createTempFile("gds4j-http-", ".part");
            if (Files.getFileStore(file).getUsableSpace() < length) {
                Files.delete(file);
                throw full(length);
            }
            try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
                return channel.map(FileChannel.MapMode.READ_WRITE, 0, length, Arena.ofAuto());
            } finally {
                // The mapping keeps the bytes until the source is unreachable.
                Files.delete(file);
            }
        } catch (IOException e) {
            throw failure(Errno.EIO, "no temporary file of %s bytes can be made: %s".formatted(length, e), e);
        }
    }

    private CuFileException full(long length) {
        return failure(
                Errno.ENOSPC, "the server has no ranges, and the folder of temporary files has no room for %s bytes"
                        .formatted(length),
                null);
    }

    private static RangeBody dropped() {
        return new RangeBody(MemorySegment.NULL);
    }

    private HttpResponse<Void> await(HttpRequest request, HttpResponse.BodyHandler<Void> handler, RangeBody body)
            throws InterruptedException, ExecutionException {
        return await(request, handler, CompletableFuture.completedFuture(body));
    }

    private HttpResponse<Void> await(
            HttpRequest request, HttpResponse.BodyHandler<Void> handler, CompletableFuture<RangeBody> body)
            throws InterruptedException, ExecutionException {
        SharedClient client = connections.acquire();
        @Nullable CompletableFuture<HttpResponse<Void>> sent = null;
        try {
            sent = client.get().sendAsync(request, handler);
            long progressAt = System.nanoTime();
            long progressBytes = 0;
            while (true) {
                try {
                    return sent.get(POLL_MILLIS, TimeUnit.MILLISECONDS);
                } catch (TimeoutException e) {
                    RangeBody open = body.getNow(null);
                    long received = open == null ? 0 : open.received();
                    if (received - progressBytes >= PROGRESS) {
                        progressBytes = received;
                        progressAt = System.nanoTime();
                    } else if (System.nanoTime() - progressAt >= options.stallTimeout().toNanos()) {
                        throw failure(Errno.ETIMEDOUT, "no progress for %s s"
                                .formatted(options.stallTimeout().toSeconds()), null);
                    }
                }
            }
        } finally {
            connections.release(client);
            if (sent != null) {
                sent.cancel(true);
            }
        }
    }

    private CuFileException failure(int errno, String why, @Nullable Throwable cause) {
        return RemoteFailure.of(uri, 0, HEAD_BYTES, errno, why, cause);
    }
}
