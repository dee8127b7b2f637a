package io.gds4j.remote;

import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.source.RangeSource;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.net.http.HttpResponse;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A resumable upload. Its parts go out one after the other, and the last one makes the object. The server drops what it has already of a part that
 * comes again, and the session of an upload that never ends after a week: there is nothing to abort. Used by one thread.
 */
final class GcsSession implements Parts {
    /** What the server has: all bytes up to this one. */
    private static final Pattern RANGE = Pattern.compile("bytes=0-(\\d{1,18})");

    private final GcsTarget target;
    private final URI url;
    private long at;
    private long size;

    private GcsSession(GcsTarget target, URI url) {
        this.target = target;
        this.url = url;
    }

    static GcsSession begin(GcsTarget target, boolean onlyNew) {
        Map<String, String> query = new HashMap<>(Map.of("uploadType", "resumable", "name", target.name()));
        if (onlyNew) {
            query.put("ifGenerationMatch", "0");
        }
        URI uri = target.store().upload(query);
        MemorySegment metadata = Parts.bytes(
                "{\"metadata\": {\"%s\": \"%s\"}}".formatted(GcsTarget.MARK, target.mark()));
        try {
            HttpResponse<byte[]> answer = target.requests().send(
                    "POST", uri, metadata, Map.of("Content-Type", "application/json"));
            return new GcsSession(target, session(uri, AnswerHead.of(answer).location()).orElseThrow(
                    () -> S3Requests.unlike("POST", uri, answer, "the URL of a session at this server")));
        } catch (CuFileException e) {
            throw onlyNew && e.errno().orElse(0) == Errno.ESTALE ? S3Requests.exists("POST", uri, e) : e;
        }
    }

    /** Returns the URL of a session. It must be at the same server, as tokens go there. */
    private static Optional<URI> session(URI uri, String location) {
        try {
            return location.isEmpty() ? Optional.empty()
                    : Optional.of(ObjectName.resolved(uri, location))
                            .filter(to -> ObjectName.isHttp(to) && ObjectName.isSameOrigin(uri, to));
        } catch (IllegalArgumentException e) {
            return Optional.empty();
        }
    }

    @Override
    public String method() {
        return "PUT";
    }

    @Override
    public URI url() {
        return url;
    }

    @Override
    public Map<String, String> headers() {
        return range(at, size - at);
    }

    private Map<String, String> range(long first, long count) {
        return Map.of("Content-Range", count == 0 ? "bytes */" + size
                : "bytes %s-%s/%s".formatted(first, first + count - 1, size));
    }

    @Override
    public MemorySegment send(RangeSource content, long bytes) throws IOException {
        size = bytes;
        MemorySegment memory = Arena.ofAuto().allocate(Math.min(target.partBytes(), bytes), PAGE);
        try {
            while (size - at > memory.byteSize()) {
                S3Upload.filled(memory, content, at);
                long end = at + memory.byteSize();
                while (at < end) {
                    at = send(memory.asSlice(memory.byteSize() - (end - at)));
                }
            }
            return S3Upload.filled(memory.asSlice(0, size - at), content, at);
        } catch (InterruptedException e) {
            throw S3Requests.interrupted("PUT", url, e);
        }
    }

    /** Sends a part that is not the last one, and returns how many bytes of the object the server has: perhaps not all of the part. */
    private long send(MemorySegment part) {
        HttpResponse<byte[]> answer = target.requests().send("PUT", url, part, range(at, part.byteSize()));
        Matcher has = RANGE.matcher(answer.headers().firstValue("Range").orElse(""));
        long end = answer.statusCode() == S3Requests.UNFINISHED && has.matches() ? Long.parseLong(has.group(1)) + 1 : 0;
        if (end <= at || end > at + part.byteSize()) {
            throw S3Requests.unlike("PUT", url, answer, "status 308 and the range that it has");
        }
        return end;
    }

    @Override
    public RuntimeException abort(Throwable failure) throws IOException {
        return Parts.thrown(failure);
    }
}
