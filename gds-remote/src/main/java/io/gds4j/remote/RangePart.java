package io.gds4j.remote;

import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import java.lang.foreign.MemorySegment;
import java.net.http.HttpHeaders;
import java.net.http.HttpResponse;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * A range that is being read: one request after the other until all bytes are there. A failed request continues behind the bytes
 * that have arrived. Used by the thread that reads; only the body is filled by others.
 */
final class RangePart {
    /** Bytes that count as progress. */
    private static final long PROGRESS = 64 << 10;
    private static final int MOST_DOUBLINGS = 4;
    private static final long LONGEST_PAUSE_SECONDS = 3600;

    private final HttpSource source;
    private final HttpOptions options;
    private final long offset;
    private final MemorySegment target;
    private final Runnable wake;
    private long received;
    private long progressAt;
    private long progressBytes;
    private int failures;
    private long retryAt;
    private boolean restarted;
    private boolean waiting;
    private @Nullable SharedClient client;
    private @Nullable CompletableFuture<HttpResponse<Void>> future;
    private @Nullable RangeBody body;
    private @Nullable String lastFailure;

    RangePart(HttpSource source, long offset, MemorySegment target, Runnable wake) {
        this.source = source;
        this.options = source.options();
        this.offset = offset;
        this.target = target;
        this.wake = wake;
        this.progressAt = System.nanoTime();
        this.retryAt = progressAt;
    }

    boolean isDone() {
        return received == target.byteSize();
    }

    /**
     * Continues: takes an answer, sends a request, or fails.
     *
     * @throws CuFileException if the range cannot be read
     */
    void step() {
        CompletableFuture<HttpResponse<Void>> sent = future;
        if (sent != null && sent.isDone()) {
            take(sent);
        }
        if (isDone()) {
            return;
        }
        long now = System.nanoTime();
        RangeBody open = body;
        long arrived = received + (open == null ? 0 : open.received());
        if (arrived - progressBytes >= PROGRESS) {
            progressBytes = arrived;
            progressAt = now;
            failures = 0;
        } else if (now - progressAt >= options.stallTimeout().toNanos()) {
            String last = lastFailure == null ? "" : "; the last failure: " + lastFailure;
            throw failure(Errno.ETIMEDOUT, "no progress for %s%s"
                    .formatted(options.stallTimeout().toString().substring(2).toLowerCase(Locale.ROOT), last),
                    null);
        }
        if (future == null && now - retryAt >= 0) {
            begin(now);
        }
    }

    /** Sends a request, or waits for a connection, which is no lack of progress. */
    private void begin(long now) {
        if (waiting) {
            source.connections().forget(this);
        }
        Optional<SharedClient> free = source.connections().tryAcquire(this);
        waiting = free.isEmpty();
        if (waiting) {
            progressAt = now;
        } else {
            send(free.get());
        }
    }

    void wake() {
        wake.run();
    }

    private void end() {
        SharedClient used = client;
        client = null;
        if (used != null) {
            source.connections().release(used);
        }
    }

    private void send(SharedClient through) {
        client = through;
        RangeBody into = new RangeBody(target.asSlice(received));
        long start = position();
        body = into;
        boolean sent = false;
        try {
            CompletableFuture<HttpResponse<Void>> answer = source.send(
                    through, start, target.byteSize() - received,
                    info -> problem(info.statusCode(), info.headers(), start).isEmpty() ? into
                            : new RangeBody(MemorySegment.NULL));
            future = answer;
            sent = true;
            answer.whenComplete((response, failure) -> wake.run());
        } finally {
            if (!sent) {
                end();
            }
        }
    }

    private void take(CompletableFuture<HttpResponse<Void>> sent) {
        RangeBody filled = body;
        future = null;
        body = null;
        end();
        if (filled == null) {
            return;
        }
        filled.detach();
        long start = position();
        received += filled.received();
        if (sent.isCompletedExceptionally()) {
            Throwable why = sent.exceptionNow();
            retry("%s%s".formatted(
                    why.getClass().getSimpleName(), why.getMessage() == null ? "" : ": " + why.getMessage()), why, 0);
            return;
        }
        HttpResponse<Void> response = sent.resultNow();
        if (filled.isTooLong()) {
            throw failure(Errno.EIO, "the body is longer than the range", null);
        }
        int status = response.statusCode();
        if (source.redirected(response, offset, target.byteSize())) {
            countFailure("too many redirects", null);
            return;
        }
        Optional<String> problem = problem(status, response.headers(), start);
        if (problem.isPresent()) {
            if (isTransient(status)) {
                retry(problem.get(), null, retryAfter(response.headers()));
                return;
            }
            if (!restarted && source.restarted(response)) {
                restarted = true;
                retry(problem.get(), null, 0);
                return;
            }
            throw failure(status == 206 ? Errno.ESTALE : RemoteFailure.errno(status), problem.get(), null);
        }
        if (!isDone()) {
            retry("the body ends %s bytes early".formatted(target.byteSize() - received), null, 0);
        }
    }

    /** Returns what is wrong with an answer; empty if its body is the range. */
    private Optional<String> problem(int status, HttpHeaders headers, long start) {
        if (status == 200) {
            return Optional.of("status 200: the server sent the whole object instead of the range");
        }
        if (status != 206) {
            return Optional.of(RemoteFailure.meaning(status));
        }
        return source.version().mismatch(headers, start, offset + target.byteSize() - 1);
    }

    private void retry(String why, @Nullable Throwable cause, long pauseNanos) {
        countFailure(why, cause);
        long base = options.backoff().toNanos() << Math.min(failures - 1, MOST_DOUBLINGS);
        long jittered = base / 2 + (base > 1 ? ThreadLocalRandom.current().nextLong(base / 2) : 0);
        retryAt = System.nanoTime() + Math.max(pauseNanos, jittered);
    }

    private void countFailure(String why, @Nullable Throwable cause) {
        lastFailure = why;
        failures = received - progressBytes >= PROGRESS ? 1 : failures + 1;
        if (failures >= options.attempts()) {
            throw failure(Errno.EIO, "%s (%s attempts)".formatted(why, failures), cause);
        }
    }

    static boolean isTransient(int status) {
        return switch (status) {
            case 408, 429, 500, 502, 503, 504 -> true;
            default -> false;
        };
    }

    /** Returns the pause that the server asks for, in nanoseconds. */
    private static long retryAfter(HttpHeaders headers) {
        String text = headers.firstValue("Retry-After").orElse("").trim();
        long seconds = 0;
        if (text.matches("\\d{1,9}")) {
            seconds = Long.parseLong(text);
        } else if (!text.isEmpty()) {
            try {
                Instant then = ZonedDateTime.parse(text, DateTimeFormatter.RFC_1123_DATE_TIME).toInstant();
                seconds = Duration.between(Instant.now(), then).toSeconds() + 1;
            } catch (DateTimeException e) {
                return 0;
            }
        }
        return Duration.ofSeconds(Math.clamp(seconds, 0, LONGEST_PAUSE_SECONDS)).toNanos();
    }

    private long position() {
        return offset + received;
    }

    private CuFileException failure(int errno, String why, @Nullable Throwable cause) {
        return RemoteFailure.of(source.uri(), offset, target.byteSize(), errno, why, cause);
    }

    /** Ends a request in flight. Afterwards nothing writes to the memory. */
    void abandon() {
        CompletableFuture<HttpResponse<Void>> sent = future;
        RangeBody open = body;
        if (open != null) {
            open.detach();
        }
        if (sent != null) {
            sent.cancel(true);
            future = null;
            end();
        }
        if (waiting) {
            source.connections().forget(this);
        }
    }
}
