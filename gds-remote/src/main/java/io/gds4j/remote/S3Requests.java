package io.gds4j.remote;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.internal.text.InertText;
import java.io.ByteArrayOutputStream;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.HttpResponse.BodySubscribers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Sends requests with short answers, and repeats them after failures that may pass. Thread-safe.
 *
 * @param options settings of these requests
 * @param patience longest time in nanoseconds until there is a connection
 * @param grace longest time that an interrupted thread still waits for an answer that comes; the thread stays interrupted
 */
record S3Requests(HttpConnections connections, HttpOptions options, long patience, Duration grace) {

    /** A checksum of the body, which the server compares: a request that has it is signed without a digest of the body. */
    static final String CHECKSUM = "x-amz-checksum-crc32c";

    /** What Google's servers answer to a part of an upload; no redirect. */
    static final int UNFINISHED = 308;

    private static final int MAX_ANSWER = 16 << 20;

    /** Longest time that S3 may complete an upload, in times without progress. */
    private static final int MAX_COMPLETION = 10;

    /** Longest time of a request that looks or tidies up after a failure. */
    private static final Duration SHORT = Duration.ofSeconds(2);

    /** Longest time of each request that tidies up for a thread that was interrupted: the program may be ending. */
    private static final Duration FAREWELL = Duration.ofMillis(500);

    S3Requests(HttpConnections connections) {
        this(connections, connections.options(), Long.MAX_VALUE, Duration.ZERO);
    }

    /** Returns requests whose answer counts although the thread was interrupted meanwhile, if it comes in this time. */
    S3Requests withGrace(Duration atMost) {
        return new S3Requests(connections, options, patience, atMost);
    }

    /**
     * Sends what looks or tidies up after a failure. For a thread that is interrupted, each request is attempted once, for at most half
     * a second; the thread stays interrupted.
     */
    void tidy(Consumer<S3Requests> work) {
        boolean interrupted = Thread.interrupted();
        try {
            work.accept(interrupted ? within(FAREWELL) : this);
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Returns requests that are attempted once, and not for long. */
    S3Requests once(Duration atMost) {
        Duration stall = options.stallTimeout().compareTo(atMost) < 0 ? options.stallTimeout() : atMost;
        return new S3Requests(
                connections, options.withPatience(stall, 1, Duration.ZERO), patience, Duration.ZERO);
    }

    S3Requests once() {
        return once(SHORT);
    }

    /** Returns requests that are attempted once, and wait no longer for a connection either. */
    S3Requests within(Duration atMost) {
        return new S3Requests(connections, once(atMost).options, atMost.toNanos(), Duration.ZERO);
    }

    HttpResponse<byte[]> send(String method, URI uri, byte[] body) {
        return send(method, uri, body, Map.of());
    }

    /**
     * Returns the answer.
     *
     * @param headers further headers
     * @throws CuFileException if the server refuses, or does not answer after all attempts
     */
    HttpResponse<byte[]> send(String method, URI uri, byte[] body, Map<String, String> headers) {
        return send(method, uri, MemorySegment.ofArray(body), headers);
    }

    /**
     * Returns the answer.
     *
     * @param body without a copy if it is native memory
     * @param headers further headers
     * @throws CuFileException if the server refuses, or does not answer after all attempts
     */
    HttpResponse<byte[]> send(String method, URI uri, MemorySegment body, Map<String, String> headers) {
        return send(method, uri, body, headers, () -> {
            // to repeat the request does no harm
        });
    }

    /**
     * Deletes something.
     *
     * @param deleted statuses of the answer
     * @throws CuFileException if the server refuses, or does not say so as S3 does
     */
    void delete(URI uri, Set<Integer> deleted) {
        HttpResponse<byte[]> answer = send("DELETE", uri, new byte[0]);
        if (!deleted.contains(answer.statusCode())) {
            throw unlike("DELETE", uri, answer,
                    "status " + deleted.stream().sorted().map(String::valueOf).collect(Collectors.joining(" or ")));
        }
    }

    /**
     * Returns the answer.
     *
     * @param mayBeDone runs after each attempt that the server may have done without saying so: its answer is missing, or an error of the
     *            server
     */
    HttpResponse<byte[]> send(
            String method, URI uri, MemorySegment body, Map<String, String> headers, Runnable mayBeDone) {
        Attempts attempts = attempts(method, uri);
        Map<String, String> all = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        all.putAll(options.headers());
        all.putAll(headers);
        String digest = body.byteSize() == 0 ? Signer.EMPTY_BODY
                : headers.containsKey(CHECKSUM) || !connections.signer().coversBody() ? Signer.UNSIGNED_BODY
                        : S3Signer.sha256(body);
        Map<String, String> signed = new TreeMap<>(all);
        signed.put("Content-Length", String.valueOf(body.byteSize()));
        // No other POST has a body.
        boolean completes = method.equals("POST") && body.byteSize() > 0;
        try {
            return attempts.run(() -> {
                HttpRequest.Builder request = HttpRequest.newBuilder(uri);
                all.forEach(request::setHeader);
                connections.signer().headers(method, uri, digest, signed).forEach(request::setHeader);
                CountedBody sent = new CountedBody(body);
                AtomicLong received = new AtomicLong();
                BooleanSupplier lives = signsOfLife(received);
                request.method(method, body.byteSize() == 0 && !method.equals("POST") && !method.equals("PUT")
                        ? BodyPublishers.noBody() : sent);
                boolean isOpen = true;
                try {
                    HttpResponse<byte[]> answer = connections.send(
                            request.build(),
                            BodyHandlers.limiting(info -> collected(received), MAX_ANSWER),
                            () -> {
                                if (completes && lives.getAsBoolean()) {
                                    attempts.restartClock();
                                }
                                return sent.bytes();
                            }, attempts, patience, grace);
                    isOpen = isErrorOfServer(answer);
                    return Optional.of(checked(method, uri, answer));
                } catch (ExecutionException e) {
                    isOpen = !RemoteFailure.isUnsent(e);
                    throw e;
                } finally {
                    if (sent.forget() && isOpen) {
                        mayBeDone.run();
                    }
                }
            });
        } catch (InterruptedException e) {
            throw interrupted(method, uri, e);
        }
    }

    Attempts attempts(String method, URI uri) {
        return new Attempts(options, uri,
                (errno, why, cause) -> failure(method, uri, errno, why + connections.remark(uri, cause), cause));
    }

    /**
     * Tells whether an answer has grown since it was asked last. S3 sends spaces while it completes an upload, for minutes. But not
     * for ever.
     */
    private BooleanSupplier signsOfLife(AtomicLong received) {
        long begun = System.nanoTime();
        long most = options.stallTimeout().multipliedBy(MAX_COMPLETION).toNanos();
        AtomicLong known = new AtomicLong();
        return () -> {
            long now = received.get();
            return known.getAndSet(now) != now && System.nanoTime() - begun < most;
        };
    }

    private static HttpResponse.BodySubscriber<byte[]> collected(AtomicLong received) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        return BodySubscribers.mapping(BodySubscribers.ofByteArrayConsumer(part -> part.ifPresent(bytes -> {
            all.writeBytes(bytes);
            received.addAndGet(bytes.length);
        })), end -> all.toByteArray());
    }

    /** Returns whether a server failed, perhaps after it did what it was asked for. To be too busy is a refusal. */
    private static boolean isErrorOfServer(HttpResponse<byte[]> answer) {
        String code = RemoteFailure.code(text(answer));
        return switch (answer.statusCode()) {
            case 500, 502, 503, 504 -> !code.equals("SlowDown");
            default -> code.equals("InternalError");
        };
    }

    static String text(HttpResponse<byte[]> answer) {
        return new String(answer.body(), StandardCharsets.UTF_8).strip();
    }

    /** Returns the failure of a request whose answer is not that of a store: a portal, a proxy or a server of files may send it. */
    static CuFileException unlike(String method, URI uri, HttpResponse<byte[]> answer, String expected) {
        String text = text(answer);
        return failure(method, uri, Errno.EIO, "status %s%s, where a store answers with %s".formatted(
                answer.statusCode(), text.isEmpty() ? "" : " and " + InertText.quote(text), expected), null);
    }

    private HttpResponse<byte[]> checked(
            String method, URI uri, HttpResponse<byte[]> response) throws Attempts.Passing {
        AnswerHead head = AnswerHead.of(response);
        int status = head.status();
        byte[] body = response.body();
        // Behind the spaces that keep a connection alive while an upload is completed.
        String all = new String(body, StandardCharsets.UTF_8).stripLeading();
        String text = all.substring(0, Math.min(all.length(), 4096));
        String code = RemoteFailure.code(text);
        boolean goesOn = status == UNFINISHED && head.location().isEmpty();
        if ((status / 100 == 2 || goesOn) && code.isEmpty()) {
            if (body.length > 0 && head.encoded().isPresent()) {
                throw failure(method, uri, Errno.EIO, head.encoded().get(), null);
            }
            return response;
        }
        String why = RemoteFailure.meaning(head, text);
        if (Attempts.isTransient(status, text) || isConflict(method, code)
                || connections.signer().corrects(response, code)) {
            throw new Attempts.Passing(why, RemoteFailure.errno(status, text), head.retryAfter());
        }
        throw failure(method, uri, RemoteFailure.errno(status, text), why, null);
    }

    /**
     * Returns whether another writer was in the way, and S3 wants the request again. Not so for the request that completes parts: S3 wants all of
     * them again.
     */
    private static boolean isConflict(String method, String code) {
        return method.equals("PUT") && code.equals("ConditionalRequestConflict");
    }

    static CuFileException failure(String method, URI uri, int errno, String why, @Nullable Throwable cause) {
        CuFileException.Builder builder = CuFileException.builder(method).error(CuFileError.IO_ERROR).errno(errno)
                .detail("%s: %s".formatted(ObjectName.shown(uri), why));
        return cause == null ? builder.build() : builder.cause(cause).build();
    }

    static CuFileException exists(String method, URI uri, CuFileException why) {
        return failure(method, uri, Errno.EEXIST, "there is such an object already", why);
    }

    static CuFileException interrupted(String method, URI uri, Exception cause) {
        Thread.currentThread().interrupt();
        return CuFileException.builder(method).error(CuFileError.IO_ERROR).errno(Errno.EINTR)
                .detail("interrupted: " + ObjectName.shown(uri)).cause(cause).buildInterrupted();
    }
}
