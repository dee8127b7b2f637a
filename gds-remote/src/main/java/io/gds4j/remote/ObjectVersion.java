package io.gds4j.remote;

import java.time.Instant;
import java.util.Optional;

/**
 * What identifies the content of an object: every answer must agree with the first one.
 *
 * @param size bytes
 * @param etag header ETag of the first answer; empty if it had none
 * @param lastModified header Last-Modified of the first answer; empty if it had none
 * @param generation number that Google's servers give each content of an object; empty if there is none
 */
record ObjectVersion(long size, String etag, String lastModified, String generation) {

    static final ObjectVersion UNKNOWN = new ObjectVersion(0, "", "", "");
    private static final String CHANGED = "the object changed: ";

    /** Returns whether a mismatch is that of another version. */
    static boolean isChange(String mismatch) {
        return mismatch.startsWith(CHANGED);
    }

    static ObjectVersion of(long size, AnswerHead head) {
        return new ObjectVersion(size, head.etag(), head.lastModified(), head.generation());
    }

    /** Returns when the server says that the object was changed. */
    Optional<Instant> modified() {
        return AnswerHead.time(lastModified);
    }

    /** Returns whether {@code If-Match} can demand this version: it takes no weak tags. */
    boolean canBeDemanded() {
        return !etag.isEmpty() && !etag.startsWith("W/");
    }

    /**
     * Returns in what an answer 206 differs from the range asked for; empty if it is that range of this version, or the beginning of it:
     * RFC 9110 15.3.7 lets servers send less.
     */
    Optional<String> mismatch(AnswerHead head, long first, long last) {
        String text = head.contentRange();
        if (text.isEmpty()) {
            return Optional.of("status 206 without Content-Range");
        }
        Optional<ContentRange> range = head.range();
        if (range.isEmpty()) {
            return Optional.of("wrong Content-Range '%s'".formatted(AnswerHead.shortened(text)));
        }
        ContentRange got = range.get();
        if (got.total() != size) {
            return Optional.of(CHANGED + "it had %s bytes, now it has %s".formatted(size, got.total()));
        }
        if (got.first() != first || got.last() > last) {
            return Optional.of("Content-Range is '%s' instead of bytes %s-%s/%s"
                    .formatted(AnswerHead.shortened(text), first, last, size));
        }
        return changed(head).or(head::encoded);
    }

    private Optional<String> changed(AnswerHead head) {
        ObjectVersion now = of(size, head);
        if (!etag.equals(now.etag)) {
            return Optional.of(CHANGED + "its ETag was %s, now it is %s"
                    .formatted(AnswerHead.shortened(etag), AnswerHead.shortened(now.etag)));
        }
        if (!now.generation.isEmpty() && !generation.equals(now.generation)) { // the place of a redirect has none
            return Optional.of(CHANGED + "its generation was %s, now it is %s"
                    .formatted(AnswerHead.shortened(generation), AnswerHead.shortened(now.generation)));
        }
        if (etag.isEmpty() && !lastModified.equals(now.lastModified)) {
            return Optional.of(CHANGED + "Last-Modified was %s, now it is %s"
                    .formatted(AnswerHead.shortened(lastModified), AnswerHead.shortened(now.lastModified)));
        }
        return Optional.empty();
    }
}
