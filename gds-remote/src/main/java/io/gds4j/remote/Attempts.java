package io.gds4j.remote;

import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.net.http.HttpTimeoutException;
import java.security.KeyStoreException;
import java.security.cert.CertPathValidatorException;
import java.security.cert.CertificateException;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLPeerUnverifiedException;
import org.jspecify.annotations.Nullable;

/**
 * The attempts of one request or range, over HTTP and S3: which failures are repeated, after which pause, and when there was no
 * progress for too long. Used by one thread.
 */
final class Attempts {
    /** Bytes that count as progress. */
    private static final long PROGRESS = 64 << 10;
    private static final int MAX_DOUBLINGS = 4;
    /** Most answers that are shorter than asked for, until there is progress. */
    private static final int MAX_SHORTER = 64;

    private final HttpOptions options;
    private final URI uri;
    private final Failure failure;
    private long progressAt = System.nanoTime();
    private long progressBytes;
    private int failures;
    private int redirects;
    private int shorter;
    private @Nullable String lastFailure;

    /** Makes the exception that ends the attempts. */
    @FunctionalInterface
    interface Failure {
        /** Returns the exception. */
        CuFileException of(int errno, String why, @Nullable Throwable cause);
    }

    /** One attempt. */
    @FunctionalInterface
    interface Attempt<T> {
        /** Returns the result; empty if a redirect has to be followed first. */
        Optional<T> run() throws InterruptedException, ExecutionException, Passing;
    }

    /** A failure that may pass. */
    static final class Passing extends Exception {
        private static final long serialVersionUID = 1L;
        private final int errno;
        private final long pauseNanos;

        /** @param pauseNanos pause that the server asks for */
        Passing(String why, int errno, long pauseNanos) {
            super(why);
            this.errno = errno;
            this.pauseNanos = pauseNanos;
        }
    }

    Attempts(HttpOptions options, URI uri, Failure failure) {
        this.options = options;
        this.uri = uri;
        this.failure = failure;
    }

    /**
     * Attempts until there is a result.
     *
     * @throws CuFileException if no further attempt is allowed
     */
    <T> T run(Attempt<T> attempt) throws InterruptedException {
        while (true) {
            long pause;
            try {
                Optional<T> result = attempt.run();
                if (result.isPresent()) {
                    return result.get();
                }
                continue;
            } catch (ExecutionException e) {
                pause = failed(e.getCause());
            } catch (Passing e) {
                pause = failed(String.valueOf(e.getMessage()), e.errno, null, e.pauseNanos);
            }
            TimeUnit.NANOSECONDS.sleep(pause);
        }
    }

    /**
     * Looks whether the request goes on.
     *
     * @param bytes bytes sent or received so far; those of an attempt that repeats others are no progress
     * @throws CuFileException ETIMEDOUT if there was no progress for too long
     */
    void progress(long bytes) {
        long now = System.nanoTime();
        if (bytes - progressBytes >= PROGRESS) {
            progressBytes = bytes;
            progressAt = now;
            failures = 0;
            redirects = 0;
            shorter = 0;
        } else if (now - progressAt >= options.stallTimeout().toNanos()) {
            throw stalled("");
        }
    }

    private CuFileException stalled(String why) {
        String last = lastFailure == null ? "" : "; the last failure: " + lastFailure;
        return failure.of(Errno.ETIMEDOUT, "no progress for %s%s%s".formatted(
                options.stallTimeout().toString().substring(2).toLowerCase(Locale.ROOT), why, last), null);
    }

    /** Returns the exception for a request that found no connection in time. */
    CuFileException noConnection() {
        return stalled("; all connections are in use");
    }

    /** Starts the time without progress again: a wait for a connection does not count. */
    void restartClock() {
        progressAt = System.nanoTime();
    }

    /** Counts a redirect that is followed. */
    void redirected() {
        redirects++;
        if (redirects > options.redirects()) {
            throw failure.of(Errno.EIO, "more than %s redirects".formatted(options.redirects()), null);
        }
    }

    /** Counts an answer with the beginning of the range that was asked for. */
    void shorter() {
        shorter++;
        if (shorter > MAX_SHORTER) {
            throw failure.of(
                    Errno.EIO, "%s answers in a row had shorter ranges than asked for, together less than %s bytes"
                            .formatted(MAX_SHORTER, PROGRESS),
                    null);
        }
    }

    /**
     * Counts an attempt without an answer.
     *
     * @return nanoseconds until the next attempt
     * @throws CuFileException if no further attempt is allowed, or none could succeed
     */
    long failed(Throwable why) {
        String text = RemoteFailure.reason(why, uri, options);
        if (!mayPass(why)) {
            throw failure.of(Errno.EIO, text, why);
        }
        boolean late = why instanceof HttpTimeoutException || why instanceof SocketTimeoutException;
        return failed(text, late ? Errno.ETIMEDOUT : Errno.EIO, why, 0);
    }

    /**
     * Counts a failed attempt.
     *
     * @param pauseNanos pause that the server asks for
     * @return nanoseconds until the next attempt
     * @throws CuFileException if no further attempt is allowed
     */
    long failed(String why, int errno, @Nullable Throwable cause, long pauseNanos) {
        failures++;
        if (failures >= options.attempts()) {
            throw failure.of(errno, "%s (%s attempts)".formatted(why, failures), cause);
        }
        lastFailure = why;
        long base = options.backoff().toNanos() << Math.min(failures - 1, MAX_DOUBLINGS);
        long jittered = base / 2 + (base > 1 ? ThreadLocalRandom.current().nextLong(base / 2) : 0);
        long left = progressAt + options.stallTimeout().toNanos() - System.nanoTime();
        if (pauseNanos > left) {
            throw stalled("; the server asks to wait " + Duration.ofNanos(pauseNanos).toSeconds() + " s");
        }
        return Math.max(pauseNanos, Math.min(jittered, Math.max(0, left)));
    }

    static boolean isTransient(int status) {
        return switch (status) {
            case 408, 429, 500, 502, 503, 504 -> true;
            default -> false;
        };
    }

    /** Returns whether an answer tells to ask again: by its status, or by the code that an S3 server writes, whatever the status. */
    static boolean isTransient(int status, String body) {
        return isTransient(status) || isTransient(RemoteFailure.code(body));
    }

    private static boolean isTransient(String code) {
        return switch (code) {
            case "InternalError", "SlowDown", "RequestTimeout", "ServiceUnavailable" -> true;
            default -> false;
        };
    }

    /** Returns whether another attempt may succeed: not with a certificate, an agreement on TLS, headers, a proxy or a
     * program like that. */
    private static boolean mayPass(Throwable why) {
        for (Throwable each = why; each != null; each = each.getCause()) {
            String message = String.valueOf(each.getMessage());
            if (each instanceof CertificateException || each instanceof CertPathValidatorException
                    || each instanceof KeyStoreException || each instanceof SSLPeerUnverifiedException
                    || each instanceof Error || each instanceof Place.Refused
                    || !RemoteFailure.broken(each).isEmpty() && !RemoteFailure.isNoAnswer(each)
                    || message.toLowerCase(Locale.ROOT).contains("unrecognized ssl message")
                    || message.contains("Received fatal alert: ") && !message.endsWith("internal_error")
                    || message.startsWith("Tunnel failed, got: 4")) {
                return false;
            }
        }
        return true;
    }
}
