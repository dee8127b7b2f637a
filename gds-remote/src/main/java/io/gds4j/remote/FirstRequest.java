package io.gds4j.remote;

import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.internal.text.SystemReason;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;

/** Opens an object: finds its place, size and version, and reads its first bytes. Used by one thread. */
final class FirstRequest {
    private static final int HEAD_BYTES = 64 << 10;

    private final HttpConnections connections;
    private final HttpOptions options;
    private final URI uri;
    private final String basic;
    private final Attempts attempts;
    private Place place;

    FirstRequest(HttpConnections connections, URI uri, String basic) {
        this.connections = connections;
        this.options = connections.options();
        this.uri = uri;
        this.basic = basic;
        this.place = Place.of(uri);
        this.attempts = new Attempts(options, uri, this::failure);
    }

    HttpSource run() throws InterruptedException {
        return attempts.run(this::attempt);
    }

    /** Returns the source; empty after a redirect. */
    private Optional<HttpSource> attempt() throws InterruptedException, ExecutionException, Attempts.Passing {
        MemorySegment head = MemorySegment.ofArray(new byte[HEAD_BYTES]);
        RangeBody body = new RangeBody(head);
        HttpRequest request = HttpSource.request(
                connections, uri, place.uri(), basic, Map.of("Range", "bytes=0-" + (HEAD_BYTES - 1))).build();
        HttpResponse<String> response = connections.send(
                request, place,
                info -> info.statusCode() == 206 || isShort(AnswerHead.of(info)) ? body : RangeBody.text(),
                body::received,
                attempts);
        Optional<Place> to = HttpSource.redirect(uri, place, response, options, 0, HEAD_BYTES);
        if (to.isPresent()) {
            attempts.redirected();
            place = to.get();
            return Optional.empty();
        }
        AnswerHead answer = AnswerHead.of(response);
        int status = answer.status();
        if (status == 416) {
            return empty(answer);
        }
        if (status == 200) {
            return isShort(answer) && !body.isTooLong()
                    ? whole(answer, head.asSlice(0, body.received())) : sequential(answer);
        }
        if (status != 206) {
            throw refused(response);
        }
        ContentRange range = answer.range()
                .filter(parsed -> parsed.first() == 0
                        && parsed.last() < Math.min(HEAD_BYTES, parsed.total()))
                .orElseThrow(() -> failure(Errno.EIO, answer.contentRange().isEmpty()
                        ? "status 206 without Content-Range"
                        : "wrong Content-Range '%s'".formatted(AnswerHead.shortened(answer.contentRange())), null));
        refuseEncoded(answer);
        long expected = range.last() + 1;
        if (body.isTooLong() || body.received() > expected) {
            throw failure(Errno.EIO, "the body is longer than the range", null);
        }
        if (body.received() < expected) {
            throw early(expected - body.received());
        }
        return source(ObjectVersion.of(range.total(), answer), head.asSlice(0, expected));
    }

    /** Returns what an answer without the object means; throws if another attempt may succeed. */
    private CuFileException refused(HttpResponse<String> response) throws Attempts.Passing {
        AnswerHead answer = AnswerHead.of(response);
        String body = response.body();
        String why = RemoteFailure.meaning(answer, body);
        int errno = RemoteFailure.errno(answer.status(), body);
        if (Attempts.isTransient(answer.status(), body)
                || connections.signer().corrects(response, RemoteFailure.code(body))) {
            throw new Attempts.Passing(why, errno, answer.retryAfter());
        }
        return failure(errno, why, null);
    }

    private void refuseEncoded(AnswerHead answer) {
        answer.encoded().ifPresent(encoded -> {
            throw failure(Errno.EIO, encoded, null);
        });
    }

    private static Attempts.Passing early(long missing) {
        return new Attempts.Passing("the body ends %s bytes early".formatted(missing), Errno.EIO, 0);
    }

    /** Returns whether an answer has the whole object in as many bytes as the first request asks for, and tells where it ends. */
    private static boolean isShort(AnswerHead answer) {
        return answer.status() == 200 && answer.tellsEnd() && answer.length() <= HEAD_BYTES;
    }

    /** Opens an object that came whole: a server may ignore ranges, above all of an empty object. */
    private Optional<HttpSource> whole(AnswerHead answer, MemorySegment bytes) throws Attempts.Passing {
        refuseEncoded(answer);
        long length = answer.length() < 0 ? bytes.byteSize() : answer.length();
        if (bytes.byteSize() < length) {
            throw early(length - bytes.byteSize());
        }
        return source(ObjectVersion.of(length, answer), bytes);
    }

    /** Opens an object whose first bytes do not exist. Not every server tells that its size is 0: the whole object does. */
    private Optional<HttpSource> empty(AnswerHead refused) throws InterruptedException, ExecutionException {
        String range = refused.contentRange();
        if (ContentRange.totalOfUnsatisfied(range) == 0) {
            return source(ObjectVersion.of(0, refused), MemorySegment.NULL);
        }
        if (!range.isEmpty()) {
            throw failure(Errno.EIO, RemoteFailure.meaning(416), null);
        }
        RangeBody body = new RangeBody(MemorySegment.ofArray(new byte[1]));
        HttpRequest request = HttpSource.request(connections, uri, place.uri(), basic, Map.of()).build();
        HttpResponse<String> whole = connections.send(
                request, place, info -> info.statusCode() == 200 ? body : dropped(), body::received, attempts);
        AnswerHead answer = AnswerHead.of(whole);
        if (answer.status() != 200 || !answer.tellsEnd() || body.received() > 0 || body.isTooLong()) {
            throw failure(Errno.EIO, RemoteFailure.meaning(416), null);
        }
        return source(ObjectVersion.of(0, answer), MemorySegment.NULL);
    }

    private Optional<HttpSource> source(ObjectVersion version, MemorySegment head) {
        return Optional.of(new HttpSource(connections, uri, basic, place, version, head));
    }

    /** Reads the whole object into a temporary file, which nothing else can open. */
    private Optional<HttpSource> sequential(AnswerHead told)
            throws InterruptedException, ExecutionException, Attempts.Passing {
        if (options.sequential() == 0) {
            throw failure(
                    Errno.EIO, "the server has no ranges: it sent the whole object; HttpOptions.withSequential, for gds"
                            + " GDS4J_REMOTE_SEQUENTIAL=true, reads it once from its beginning",
                    null);
        }
        refuseEncoded(told);
        long length = told.length();
        if (length < 0) {
            throw failure(Errno.EIO, "the server has no ranges and does not tell the size", null);
        }
        ObjectVersion version = ObjectVersion.of(length, told);
        MemorySegment copy = temporary(length);
        RangeBody body = new RangeBody(copy);
        attempts.restartClock();
        HttpRequest request = HttpSource.request(connections, uri, place.uri(), basic, Map.of()).build();
        HttpResponse<String> response = connections.send(
                request, place,
                info -> info.statusCode() == 200 && isSame(version, AnswerHead.of(info)) ? body : RangeBody.text(),
                body::received, attempts);
        AnswerHead answer = AnswerHead.of(response);
        if (answer.status() != 200) {
            throw refused(response);
        }
        if (!isSame(version, answer)) {
            throw failure(Errno.ESTALE, "the object changed while it was opened", null);
        }
        if (body.isFull()) {
            throw noSpace(length);
        }
        if (body.received() != length) {
            throw early(length - body.received());
        }
        return source(version, copy);
    }

    private static boolean isSame(ObjectVersion version, AnswerHead answer) {
        return version.equals(ObjectVersion.of(answer.length(), answer)) && answer.encoded().isEmpty();
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
        Path folder = temporaries();
        try {
            if (Files.getFileStore(folder).getUsableSpace() < length) {
                throw noSpace(length);
            }
            Path file = folder.resolve("gds4j-http-" + NewFile.randomDigits() + ".part");
            try (FileChannel channel = NewFile.open(file)) {
                // Now, not later: a signal may end the process. The mapping keeps the bytes until the source is unreachable.
                Files.delete(file);
                // A mapping of a file without its blocks would end in a fault of the memory on a full disk.
                ByteBuffer zeros = ByteBuffer.allocate((int) Math.min(length, 1 << 20));
                while (channel.position() < length) {
                    channel.write(zeros.clear().limit((int) Math.min(zeros.capacity(), length - channel.position())));
                }
                return channel.map(FileChannel.MapMode.READ_WRITE, 0, length, Arena.ofAuto());
            } finally {
                Files.deleteIfExists(file); // it could not be opened
            }
        } catch (IOException e) {
            String why = String.valueOf(e.getMessage());
            throw SystemReason.DISK_FULL.in(e) ? noSpace(length)
                    : failure(Errno.EIO, "no copy of the object in %s: %s".formatted(folder, why), e);
        }
    }

    private static Path temporaries() {
        return Path.of(System.getProperty("java.io.tmpdir"));
    }

    private CuFileException noSpace(long length) {
        return failure(Errno.ENOSPC, "%s has no room for a copy of %s bytes; -Djava.io.tmpdir names another folder"
                .formatted(temporaries(), length), null);
    }

    private static RangeBody dropped() {
        return new RangeBody(MemorySegment.NULL);
    }

    private CuFileException failure(int errno, String why, @Nullable Throwable cause) {
        return RemoteFailure.of(uri, 0, HEAD_BYTES, errno, why + connections.remark(place.uri(), cause), cause);
    }
}
