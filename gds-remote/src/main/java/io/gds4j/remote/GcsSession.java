package io.gds4j.remote;

import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.internal.file.Pages;
import io.gds4j.source.RangeSource;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A resumable upload. Its parts go out one after the other, and the last one makes the object. The server drops what it has already of a part that
 * comes again. It keeps the session of an upload that failed for a week if it cannot be cancelled. Used by one thread.
 */
final class GcsSession implements Parts {
    /** What the server has: all bytes up to this one. */
    private static final Pattern RANGE = Pattern.compile("bytes=0-(\\d{1,18})");

    /** Longest time to cancel: the caller waits for the failure. */
    private static final Duration CANCEL = Duration.ofSeconds(2);

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
    public GcsTarget target() {
        return target;
    }

    /** That of the range changes with each request. */
    @Override
    public Map<String, String> headers() {
        return Map.of();
    }

    @Override
    public MemorySegment send(RangeSource content, long bytes) throws IOException {
        size = bytes;
        MemorySegment memory = Arena.ofAuto().allocate(Math.min(target.partBytes(), bytes), Pages.SIZE);
        try {
            while (size - at > memory.byteSize()) {
                long end = at + memory.byteSize();
                HttpResponse<byte[]> answer = put(filled(memory, content), end, Map.of(), () -> {
                    // it makes no object
                });
                if (at < end) {
                    throw S3Requests.unlike("PUT", url, answer, "status 308 and the range that it has");
                }
            }
            return filled(memory.asSlice(0, size - at), content);
        } catch (InterruptedException e) {
            throw S3Requests.interrupted("PUT", url, e);
        }
    }

    private MemorySegment filled(MemorySegment memory, RangeSource content) throws IOException, InterruptedException {
        S3Upload.filled(memory, content, at);
        target.content().add(memory);
        return memory;
    }

    @Override
    public HttpResponse<byte[]> finish(MemorySegment body, Map<String, String> all, Runnable mayBeDone) {
        try {
            return put(body, size, all, mayBeDone);
        } catch (InterruptedException e) {
            throw S3Requests.interrupted("PUT", url, e);
        }
    }

    /**
     * Sends bytes up to an end until the server has them, or answers something else. It may keep the beginning of what it is sent, or nothing.
     *
     * @return the last answer
     */
    private HttpResponse<byte[]> put(MemorySegment bytes, long end, Map<String, String> all, Runnable mayBeDone)
            throws InterruptedException {
        Attempts attempts = target.requests().attempts("PUT", url);
        long begin = at;
        while (true) {
            Map<String, String> headers = new HashMap<>(all);
            headers.put("Content-Range", at == end ? "bytes */" + size
                    : "bytes %s-%s/%s".formatted(at, end - 1, size));
            HttpResponse<byte[]> answer = target.requests().send(
                    "PUT", url, bytes.asSlice(bytes.byteSize() - (end - at)), headers, mayBeDone);
            long has = has(answer);
            if (has == end && end < size) {
                at = end;
                return answer;
            }
            if (has < at || has > end) {
                return answer;
            }
            if (has == at) {
                TimeUnit.NANOSECONDS.sleep(attempts.failed(
                        "status 308: the server keeps nothing of what it is sent", Errno.EIO, null, 0));
            } else {
                at = has;
                attempts.progress(at - begin);
                attempts.shorter();
            }
        }
    }

    /** Returns how many bytes of the object the server says that it has; -1 if the answer is none of an upload that goes on. */
    private static long has(HttpResponse<byte[]> answer) {
        String range = answer.headers().firstValue("Range").orElse("");
        Matcher has = RANGE.matcher(range);
        return answer.statusCode() != S3Requests.UNFINISHED ? -1
                : range.isEmpty() ? 0 : has.matches() ? Long.parseLong(has.group(1)) + 1 : -1;
    }

    /** Cancels the session. The answer tells nothing: Google's is 499, and 404 once the object is there, which stays. */
    @Override
    public RuntimeException abort(Throwable failure) throws IOException {
        try {
            target.requests().within(CANCEL).tidy(asking -> asking.send("DELETE", url, new byte[0]));
        } catch (CuFileException e) {
            // cancelled, gone, or forgotten by the server after a week
        }
        return Parts.thrown(failure);
    }
}
