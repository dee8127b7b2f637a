package io.gds4j.remote;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.internal.text.InertText;
import java.net.URI;
import java.util.Map;

/**
 * The object that an upload makes.
 *
 * @param mark names the upload that made an object: if the answer is lost, the object still tells
 */
record S3Target(S3Names names, S3Requests requests, String key, String mark) {

    /** The header of the mark. */
    static final String MARK = "x-amz-meta-gds4j-upload";

    URI url(Map<String, String> query) {
        return names.url(key, query);
    }

    int partBytes() {
        return names.options().partBytes();
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
