package io.gds4j.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.net.http.HttpTimeoutException;
import java.time.Duration;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.SSLHandshakeException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** How often and after which pause a request is repeated, without a server. */
@Timeout(20)
class AttemptLimitsTest {
    private static final URI PLACE = URI.create("http://127.0.0.1:1/object");
    private static final long PROGRESS = 64 << 10;
    private static final Duration LONG = Duration.ofHours(1);

    private static Attempts attempts(int most, Duration stall, Duration backoff) {
        return new Attempts(HttpOptions.DEFAULTS.withPatience(stall, most, backoff).withRedirects(3), PLACE,
                (errno, why, cause) -> RemoteFailure.of(PLACE, 0, 1, errno, why, cause));
    }

    private static Attempts attempts(int most) {
        return attempts(most, LONG, Duration.ZERO);
    }

    private static long fail(Attempts attempts) {
        return attempts.failed("refused", Errno.EACCES, null, 0);
    }

    @Test
    void resultEndsTheAttempts() throws InterruptedException {
        AtomicInteger runs = new AtomicInteger();
        assertThat(attempts(4).<Integer>run(() -> switch (runs.incrementAndGet()) {
            case 1 -> throw new Attempts.Passing("busy", Errno.EIO, 0);
            case 2 -> Optional.empty(); // a redirect
            case 3 -> throw new ExecutionException(new IOException("broken"));
            case 4 -> Optional.of(7);
            default -> throw new AssertionError("asked again");
        })).isEqualTo(7);
    }

    @Test
    void lastAttemptNamesTheFailureAndTheirNumber() {
        Attempts attempts = attempts(3);
        fail(attempts);
        fail(attempts);
        CuFileException e = catchThrowableOfType(CuFileException.class, () -> fail(attempts));
        assertThat(e).hasMessageContaining("refused (3 attempts)");
        assertThat(e.errno()).hasValue(Errno.EACCES);
    }

    /** Bytes that an attempt repeats are none. */
    @Test
    void progressBeginsTheCountsAgain() {
        Attempts attempts = attempts(2);
        fail(attempts);
        attempts.progress(PROGRESS);
        fail(attempts);
        attempts.progress(2 * PROGRESS - 1);
        assertThatThrownBy(() -> fail(attempts)).hasMessageContaining("(2 attempts)");
        attempts.progress(2 * PROGRESS);
        fail(attempts);
        attempts.progress(PROGRESS);
        assertThatThrownBy(() -> fail(attempts)).hasMessageContaining("(2 attempts)");
    }

    @Test
    void redirectsAndShorterAnswersHaveLimits() {
        Attempts attempts = attempts(2);
        for (int round = 0; round < 2; round++) {
            for (int i = 0; i < 3; i++) {
                attempts.redirected();
            }
            for (int i = 0; i < 64; i++) {
                attempts.shorter();
            }
            attempts.progress((round + 1) * PROGRESS);
        }
        for (int i = 0; i < 3; i++) {
            attempts.redirected();
        }
        assertThatThrownBy(attempts::redirected).hasMessageContaining("more than 3 redirects");
        for (int i = 0; i < 64; i++) {
            attempts.shorter();
        }
        assertThatThrownBy(attempts::shorter)
                .hasMessageContaining(
                        "64 answers in a row had shorter ranges than asked for, together less than 65536");
    }

    /** They double four times; half of each is a matter of chance, so that readers do not come back together. */
    @Test
    void pausesDoubleUntilTheyAreSixteenTimesAsLong() {
        Attempts attempts = attempts(100, LONG, Duration.ofSeconds(1));
        Set<Long> seen = new HashSet<>();
        for (int failure = 1; failure < 100; failure++) {
            long base = Duration.ofSeconds(1L << Math.min(failure - 1, 4)).toNanos();
            long pause = fail(attempts);
            assertThat(pause).as("after failure %s", failure).isBetween(base / 2, base - 1);
            seen.add(pause);
        }
        assertThat(seen).hasSizeGreaterThan(50);
    }

    @Test
    void pauseMayBeNone() {
        assertThat(fail(attempts(2))).isZero();
        assertThat(fail(attempts(2, LONG, Duration.ofNanos(1)))).isZero();
        assertThat(fail(attempts(2, LONG, Duration.ofNanos(2)))).isEqualTo(1);
    }

    @Test
    void pauseEndsBeforeTheTimeWithoutProgress() {
        Duration stall = Duration.ofSeconds(600);
        Attempts attempts = attempts(9, stall, Duration.ofHours(10));
        assertThat(fail(attempts)).isPositive().isLessThanOrEqualTo(stall.toNanos());
        assertThat(attempts.failed("busy", Errno.EIO, null, Duration.ofSeconds(2).toNanos()))
                .as("at least as long as the server asks").isGreaterThan(Duration.ofSeconds(2).toNanos());
        assertThat(attempts(9, stall, Duration.ZERO).failed("busy", Errno.EIO, null, 2_000_000_000L))
                .isEqualTo(2_000_000_000L);
        assertThatThrownBy(() -> attempts.failed("busy", Errno.EIO, null, stall.toNanos() + 1_000_000_000))
                .hasMessageContaining("no progress for 10m; the server asks to wait 601 s; the last failure: busy");
    }

    @ParameterizedTest(name = "{0} {1}")
    @CsvSource(delimiter = '|', textBlock = """
            # failure | its text | errno of the last attempt; none if it is the first
            http    | request timed out                      | ETIMEDOUT
            socket  | Read timed out                         | ETIMEDOUT
            io      | Connection reset                       | EIO
            tls     | Received fatal alert: internal_error   | EIO
            tls     | Received fatal alert: unknown_ca       | none
            tls     | Unrecognized SSL message               | none
            io      | Tunnel failed, got: 407                | none
            io      | Tunnel failed, got: 503                | EIO
            """)
    void onlyFailuresThatMayPassAreRepeated(String kind, String text, String errno) {
        IOException why = switch (kind) {
            case "http" -> new HttpTimeoutException(text);
            case "socket" -> new SocketTimeoutException(text);
            case "tls" -> new SSLHandshakeException(text);
            default -> new IOException(text);
        };
        Attempts attempts = attempts(2, LONG, Duration.ofSeconds(1));
        if (!errno.equals("none")) {
            assertThat(attempts.failed(why)).isPositive();
        }
        CuFileException e = catchThrowableOfType(CuFileException.class, () -> attempts.failed(why));
        assertThat(e.errno()).hasValue(errno.equals("ETIMEDOUT") ? Errno.ETIMEDOUT : Errno.EIO);
        assertThat(e.getMessage().contains("(2 attempts)")).isEqualTo(!errno.equals("none"));
    }
}
