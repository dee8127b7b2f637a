package io.gds4j.remote;

import java.lang.foreign.MemorySegment;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.util.Base64;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.CRC32C;

/**
 * What an upload has sent: the server has a checksum of every object, and tells it. A server that appends a repeated part makes another object.
 * Used by one thread.
 */
final class GcsContent {
    private static final Pattern SIZE = Pattern.compile("\"size\"\\s*:\\s*\"(\\d+)\"");
    private static final Pattern SUM = Pattern.compile("\"crc32c\"\\s*:\\s*\"([^\"]*)\"");
    private static final Pattern HASH = Pattern.compile("crc32c=([A-Za-z0-9+/=]*)");

    private final CRC32C sum = new CRC32C();
    private long size;

    /** Counts the next bytes of the object. */
    void add(MemorySegment bytes) {
        sum.update(bytes.asByteBuffer());
        size += bytes.byteSize();
    }

    /** Returns in what the object of an answer differs: of one with its metadata, or of one to HEAD. */
    Optional<String> mismatch(HttpResponse<byte[]> answer) {
        String text = S3Requests.text(answer);
        String crc32c = Base64.getEncoder().encodeToString(
                ByteBuffer.allocate(Integer.BYTES).putInt((int) sum.getValue()).array());
        return differs("size", String.valueOf(size), first(SIZE, text)
                .or(() -> answer.headers().firstValue("x-goog-stored-content-length")))
                .or(() -> differs("checksum", crc32c, first(SUM, text).or(() -> first(
                        HASH, String.join(",", answer.headers().allValues("x-goog-hash"))))));
    }

    private static Optional<String> first(Pattern pattern, String text) {
        Matcher matcher = pattern.matcher(text);
        return matcher.find() ? Optional.of(matcher.group(1)) : Optional.empty();
    }

    private static Optional<String> differs(String what, String sent, Optional<String> told) {
        return told.filter(text -> !text.equals(sent)).map(text -> "the server has the %s %s instead of %s".formatted(
                what, AnswerHead.shortened(text), sent));
    }
}
