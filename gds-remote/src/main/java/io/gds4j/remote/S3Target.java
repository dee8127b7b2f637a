package io.gds4j.remote;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.internal.text.InertText;
import java.net.URI;
import java.net.http.HttpResponse;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * The object that an upload makes.
 *
 * @param mark names the upload that made an object: if the answer is lost, the object still tells
 */
record S3Target(S3Names names, S3Requests requests, String key, String mark) implements UploadTarget {

    /** What S3 answers when parts have become an object. Status 200 is no proof: S3 has sent it by the time that it fails. */
    private static final Pattern COMPLETED =
            Pattern.compile("(<\\?[^>]*>\\s*)?<(\\w+:)?CompleteMultipartUploadResult\\b.*", Pattern.DOTALL);

    /** The header of the mark. */
    static final String MARK = "x-amz-meta-gds4j-upload";

    @Override
    public URI url(Map<String, String> query) {
        return names.url(key, query);
    }

    @Override
    public int partBytes() {
        return names.options().partBytes();
    }

    @Override
    public String markHeader() {
        return MARK;
    }

    @Override
    public Map<String, String> headers() {
        return Map.of(MARK, mark);
    }

    @Override
    public boolean isStored(String method, HttpResponse<byte[]> answer) {
        String text = S3Requests.text(answer);
        return method.equals("POST") ? COMPLETED.matcher(text).matches()
                : answer.statusCode() == 200 && text.isBlank()
                        && !answer.headers().firstValue("ETag").orElse("").isBlank();
    }

    @Override
    public String stored(String method) {
        return method.equals("POST") ? "a CompleteMultipartUploadResult" : "status 200, an ETag and no text";
    }

    @Override
    public Set<Integer> deleted() {
        return Set.of(204);
    }

    @Override
    public Parts begin(boolean onlyNew) {
        return S3Parts.begin(this);
    }

    @Override
    public String toString() {
        return "bucket %s, key %s".formatted(names.bucket(), InertText.name(key));
    }

    /** Returns a failure that also tells what is at the server. */
    static CuFileException told(Throwable failure, String more) {
        CuFileException known = failure instanceof CuFileException own ? own : null;
        String detail = known == null ? failure.getMessage() : known.detail();
        CuFileException.Builder builder = CuFileException.builder("S3Files.upload").error(CuFileError.IO_ERROR)
                .errno(known == null ? Errno.EIO : known.errno().orElse(Errno.EIO))
                .detail(detail + "; " + more).cause(failure);
        return failure instanceof CuFileInterruptedException || Thread.currentThread().isInterrupted()
                ? builder.buildInterrupted() : builder.build();
    }
}
