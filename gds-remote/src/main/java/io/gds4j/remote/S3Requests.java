package io.gds4j.remote;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Sends requests whose answers are short, and repeats those whose failures may pass. Thread-safe. */
record S3Requests(HttpConnections connections) {
    private static final int LARGEST_ANSWER = 16 << 20;

    /** Bytes of a body that each stall timeout of a request is for: a slower connection is given up. */
    private static final int PROGRESS = 4 << 20;
    private static final Pattern CODE = Pattern.compile("<Code>([A-Za-z0-9]{1,64})</Code>");

    /**
     * Returns the answer.
     *
     * @throws CuFileException if the server refuses, or does not answer after all attempts
     */
    HttpResponse<byte[]> send(String method, URI uri, byte[] body) {
        HttpOptions options = connections.options();
        String digest = body.length == 0 ? Signer.EMPTY_BODY : S3Signer.sha256(body);
        Duration patience = options.stallTimeout().multipliedBy(1 + body.length / PROGRESS);
        int failures = 0;
        while (true) {
            String why;
            Throwable cause = null;
            int errno;
            try {
                HttpRequest.Builder request = HttpRequest.newBuilder(uri)
                        .method(method, body.length == 0 && !method.equals("POST") && !method.equals("PUT")
                                ? BodyPublishers.noBody() : BodyPublishers.ofByteArray(body));
                options.headers().forEach(request::setHeader);
                connections.signer().headers(method, uri, digest).forEach(request::setHeader);
                HttpResponse<byte[]> response = exchange(request.build(), patience);
                int status = response.statusCode();
                String code = code(response.body());
                if (status / 100 == 2 && code.isEmpty()) {
                    return response;
                }
                why = code.equals("NoSuchBucket") ? "status %s: there is no such bucket".formatted(status)
                        : RemoteFailure.meaning(status) + (code.isEmpty() ? "" : ", " + code);
                errno = RemoteFailure.errno(status);
                boolean passes =
                        RangePart.isTransient(status) || code.equals("InternalError") || code.equals("SlowDown");
                if (!passes) {
                    throw failure(method, uri, errno, why, null);
                }
            } catch (IOException e) {
                cause = e;
                errno = Errno.EIO;
                why = e.getClass().getSimpleName() + (e.getMessage() == null ? "" : ": " + e.getMessage());
            } catch (InterruptedException e) {
                throw interrupted(method, uri, e);
            }
            failures++;
            if (failures >= options.attempts()) {
                throw failure(method, uri, errno, "%s (%s attempts)".formatted(why, failures), cause);
            }
            try {
                TimeUnit.NANOSECONDS.sleep(options.backoff().toNanos() << Math.min(failures - 1, 4));
            } catch (InterruptedException e) {
                throw interrupted(method, uri, e);
            }
        }
    }

    private HttpResponse<byte[]> exchange(HttpRequest request, Duration patience)
            throws IOException, InterruptedException {
        SharedClient client = connections.acquire();
        try {
            return HttpConnections.send(
                    client.get(), request, BodyHandlers.limiting(BodyHandlers.ofByteArray(), LARGEST_ANSWER), patience);
        } finally {
            connections.release(client);
        }
    }

    /** Returns the code of an error; a server may send one even with status 200. */
    private static String code(byte[] body) {
        Matcher matcher = CODE.matcher(new String(body, 0, Math.min(body.length, 4096), StandardCharsets.UTF_8));
        return matcher.find() ? matcher.group(1) : "";
    }

    static CuFileException failure(String method, URI uri, int errno, String why, @Nullable Throwable cause) {
        CuFileException.Builder builder = CuFileException.builder(method).error(CuFileError.IO_ERROR).errno(errno)
                .detail("%s: %s".formatted(ObjectName.shown(uri), why));
        return cause == null ? builder.build() : builder.cause(cause).build();
    }

    static CuFileException interrupted(String method, URI uri, InterruptedException cause) {
        Thread.currentThread().interrupt();
        return CuFileException.builder(method).error(CuFileError.IO_ERROR).errno(Errno.EINTR)
                .detail("interrupted: " + ObjectName.shown(uri)).cause(cause).buildInterrupted();
    }
}
