package io.gds4j.remote;

import java.net.http.HttpHeaders;
import java.util.Optional;

/**
 * What identifies the content of an object: every answer must agree with the first one.
 *
 * @param size bytes
 * @param etag header ETag of the first answer; empty if it had none
 * @param lastModified header Last-Modified of the first answer; empty if it had none
 */
record ObjectVersion(long size, String etag, String lastModified) {
    static ObjectVersion of(long size, HttpHeaders headers) {
        return new ObjectVersion(
                size, headers.firstValue("ETag").orElse(""), headers.firstValue("Last-Modified").orElse(""));
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
            return Optional.of("the object changed: it had %s bytes, now it has %s".formatted(size, got.total()));
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
            return Optional.of("the object changed: its ETag was %s, now it is %s"
                    .formatted(shortened(etag), shortened(now.etag)));
        }
        if (etag.isEmpty() && !lastModified.equals(now.lastModified)) {
            return Optional.of("the object changed: Last-Modified was %s, now it is %s"
                    .formatted(shortened(lastModified), shortened(now.lastModified)));
        }
        return Optional.empty();
    }

    static Optional<String> encoded(HttpHeaders headers) {
        String encoding = headers.firstValue("Content-Encoding").orElse("identity");
        return encoding.equalsIgnoreCase("identity") ? Optional.empty()
                : Optional.of("the body is encoded: " + shortened(encoding));
    }

    private static String shortened(String text) {
        return text.length() <= 100 ? text : text.substring(0, 100) + "...";
    }
}
