package io.gds4j.remote;

import java.math.BigInteger;
import java.net.http.HttpHeaders;
import java.net.http.HttpResponse;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Status and headers of an answer, and the only reader of them. The clients believe different headers where some contradict each
 * other, so such an answer is refused before its body is read.
 */
record AnswerHead(int status, HttpHeaders headers) {
    private static final Pattern LENGTH = Pattern.compile("\\d{1,19}");
    private static final Pattern SECONDS = Pattern.compile("\\d+");
    private static final Pattern NEXT =
            Pattern.compile("<[^<>?]*\\?([A-Za-z0-9._~%=&+/-]+)>[^<>,]*;\\s*rel=\"?next\"?(?=\\s*(?:[,;]|$))");
    private static final long MAX_PAUSE_SECONDS = 3600;
    private static final int SAFE_DIGITS = 9;

    /** Below the limits of all clients: libcurl 8 takes 300 KiB, the JDK 384 KiB. */
    static final int MAX_BYTES = 256 << 10;
    /** Below that of libcurl, which is 100 KiB. */
    private static final int MAX_LINE_BYTES = 96 << 10;
    /** The JDK counts so many bytes for a header beside its text. */
    private static final int LINE_BYTES = 32;

    static final String TOO_LONG = "the headers of the answer have more than %s bytes, or one has more than %s"
            .formatted(MAX_BYTES, MAX_LINE_BYTES);
    static final String WRONG_LENGTH = "the Content-Length of the answer is wrong";
    static final String BODY_OF_204 = "status 204 with a body";

    static AnswerHead of(HttpResponse.ResponseInfo info) {
        return new AnswerHead(info.statusCode(), info.headers());
    }

    static AnswerHead of(HttpResponse<?> response) {
        return new AnswerHead(response.statusCode(), response.headers());
    }

    /** Returns why nobody can tell which bytes the body has; empty if the headers tell it, as RFC 9112 6.3 demands. */
    Optional<String> fault() {
        long bytes = 0;
        for (var header : headers.map().entrySet()) {
            for (String value : header.getValue()) {
                int line = header.getKey().length() + value.length();
                bytes += line + LINE_BYTES;
                if (line > MAX_LINE_BYTES || bytes > MAX_BYTES) {
                    return Optional.of(TOO_LONG);
                }
            }
        }
        List<String> codings = headers.allValues("Transfer-Encoding");
        List<String> lengths = headers.allValues("Content-Length");
        if (!lengths.stream().allMatch(AnswerHead::isLength)) {
            return Optional.of(WRONG_LENGTH);
        }
        if (status == 204 && (!codings.isEmpty() || lengths.stream().anyMatch(text -> !text.equals("0")))) {
            return Optional.of(BODY_OF_204);
        }
        if (!codings.isEmpty() && !isChunked()) {
            return Optional.of("the transfer coding of the answer is unknown: " + shortened(
                    String.join(", ", codings)));
        }
        if (!codings.isEmpty() && !lengths.isEmpty()) {
            return Optional.of("the answer has both Transfer-Encoding and Content-Length");
        }
        return lengths.stream().distinct().count() > 1 ? Optional.of(WRONG_LENGTH) : Optional.empty();
    }

    private static boolean isLength(String text) {
        return LENGTH.matcher(text).matches() && new BigInteger(text).bitLength() < Long.SIZE;
    }

    /** Returns whether chunks tell where the body ends. A list of codings is none that both clients read. */
    private boolean isChunked() {
        List<String> codings = headers.allValues("Transfer-Encoding");
        return codings.size() == 1 && codings.getFirst().equalsIgnoreCase("chunked");
    }

    /** Returns the bytes of the body; -1 if no header tells them. */
    long length() {
        return headers.firstValueAsLong("Content-Length").orElse(-1);
    }

    /** Returns whether the end of the body differs from a connection that broke. */
    boolean tellsEnd() {
        return length() >= 0 || isChunked();
    }

    /** Returns an encoding of the body that changes its bytes; {@code aws-chunked} framed an upload. */
    Optional<String> encoded() {
        return headers.allValues("Content-Encoding").stream()
                .flatMap(value -> Stream.of(value.split(",")))
                .map(String::strip)
                .filter(token -> !token.isEmpty() && !token.equalsIgnoreCase("identity")
                        && !token.equalsIgnoreCase("aws-chunked"))
                .findFirst()
                .map(token -> "the body is encoded: " + shortened(token));
    }

    /** Returns the header {@code Content-Range} as it is; empty if there is none. */
    String contentRange() {
        return value("Content-Range");
    }

    /** Returns the range of the body. */
    Optional<ContentRange> range() {
        return ContentRange.parse(contentRange());
    }

    String etag() {
        return value("ETag");
    }

    String generation() {
        return value("x-goog-generation");
    }

    String lastModified() {
        return value("Last-Modified");
    }

    String location() {
        return value("Location");
    }

    /** Returns the region of a bucket; empty if none is told. */
    Optional<String> bucketRegion() {
        return headers.firstValue("x-amz-bucket-region").filter(name -> name.matches("[A-Za-z0-9-]{1,64}"));
    }

    /** Returns the code of an error of the Hugging Face hub; empty if there is none. */
    String hubCode() {
        return value("X-Error-Code");
    }

    /** Returns the query of the next page of a list, as RFC 8288 names it; empty on the last page. */
    Optional<String> nextPage() {
        return headers.allValues("Link").stream().flatMap(value -> NEXT.matcher(value).results())
                .map(link -> link.group(1)).findFirst();
    }

    /** Returns whether the server knows the token, but does not take it: RFC 6750 3.1. */
    boolean refusesToken() {
        return status == 401 && value("WWW-Authenticate").contains("invalid_token");
    }

    /** Returns the time of the server. */
    Optional<Instant> date() {
        return time(value("Date"));
    }

    /** Returns the pause that the server asks for, in nanoseconds. */
    long retryAfter() {
        String text = value("Retry-After").trim();
        long seconds;
        if (SECONDS.matcher(text).matches()) {
            seconds = text.length() > SAFE_DIGITS ? MAX_PAUSE_SECONDS : Long.parseLong(text);
        } else {
            seconds = time(text).map(then -> Duration.between(Instant.now(), then).toSeconds() + 1).orElse(0L);
        }
        return Duration.ofSeconds(Math.clamp(seconds, 0, MAX_PAUSE_SECONDS)).toNanos();
    }

    private String value(String name) {
        return headers.firstValue(name).orElse("");
    }

    /** Returns a time as headers write it; empty for any other text. */
    static Optional<Instant> time(String text) {
        try {
            return text.isEmpty() ? Optional.empty()
                    : Optional.of(ZonedDateTime.parse(text, DateTimeFormatter.RFC_1123_DATE_TIME).toInstant());
        } catch (DateTimeException e) {
            return Optional.empty();
        }
    }

    static String shortened(String text) {
        return text.length() <= 100 ? text : text.substring(0, 100) + "...";
    }
}
