package io.gds4j.remote;

import java.net.http.HttpHeaders;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * What identifies the content of an object: every answer must agree with the first one.
 *
 * @param size bytes
 * @param etag header ETag of the first answer; empty if it had none
 * @param lastModified header Last-Modified of the first answer; empty if it had none
 */
record ObjectVersion(long size, String etag, String lastModified) {

    static final ObjectVersion UNKNOWN = new ObjectVersion(0, "", "");
    private static final String CHANGED = "the object changed: ";

    /** Returns whether a mismatch is that of another version. */
    static boolean isChange(String mismatch) {
        return mismatch.startsWith(CHANGED);
    }

    static ObjectVersion of(long size, HttpHeaders headers) {
        return new ObjectVersion(
                size, headers.firstValue("ETag").orElse(""), headers.firstValue("Last-Modified").orElse(""));
    }

    /** Returns when the server says that the object was changed. */
    Optional<Instant> modified() {
        try {
            return lastModified.isEmpty() ? Optional.empty()
                    : Optional.of(ZonedDateTime.parse(lastModified, DateTimeFormatter.RFC_1123_DATE_TIME).toInstant());
        } catch (DateTimeException e) {
            return Optional.empty();
        }
    }

    /** Returns whether {@code If-Match} can demand this version: it takes no weak tags. */
    boolean canBeDemanded() {
        return !etag.isEmpty() && !etag.startsWith("W/");
    }

    /** Returns in what an answer 206 differs from the range asked for; empty if it is that range of this version. */
    Optional<String> mismatch(HttpHeaders headers, long first, long last) {
        String text = headers.firstValue("Content-Range").orElse("");
        if (text.isEmpty()) {
            return Optional.of("status 206 without Content-Range");
        }
        Optional<ContentRange> range = ContentRange.parse(text);
        if (range.isEmpty()) {
            return Optional.of("wrong Content-Range '%s'".formatted(shortened(text)));
        }
        ContentRange got = range.get();
        if (got.total() != size) {
            return Optional.of(CHANGED + "it had %s bytes, now it has %s".formatted(size, got.total()));
        }
        if (got.first() != first || got.last() != last) {
            return Optional.of("Content-Range is '%s' instead of bytes %s-%s/%s"
                    .formatted(shortened(text), first, last, size));
        }
        return changed(headers).or(() -> encoded(headers));
    }

    private Optional<String> changed(HttpHeaders headers) {
        ObjectVersion now = of(size, headers);
        if (!etag.equals(now.etag)) {
            return Optional.of(CHANGED + "its ETag was %s, now it is %s"
                    .formatted(shortened(etag), shortened(now.etag)));
        }
        if (etag.isEmpty() && !lastModified.equals(now.lastModified)) {
            return Optional.of(CHANGED + "Last-Modified was %s, now it is %s"
                    .formatted(shortened(lastModified), shortened(now.lastModified)));
        }
        return Optional.empty();
    }

    /** Returns an encoding of the body that changes its bytes; {@code aws-chunked} framed an upload. */
    static Optional<String> encoded(HttpHeaders headers) {
        return headers.allValues("Content-Encoding").stream()
                .flatMap(value -> Stream.of(value.split(",")))
                .map(String::strip)
                .filter(token -> !token.isEmpty() && !token.equalsIgnoreCase("identity")
                        && !token.equalsIgnoreCase("aws-chunked"))
                .findFirst()
                .map(token -> "the body is encoded: " + shortened(token));
    }

    static String shortened(String text) {
        return text.length() <= 100 ? text : text.substring(0, 100) + "...";
    }
}
