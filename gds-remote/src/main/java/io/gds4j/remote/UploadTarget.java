package io.gds4j.remote;

import java.net.URI;
import java.net.http.HttpResponse;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** The object that an upload makes. */
sealed interface UploadTarget permits S3Target, AzureTarget, GcsTarget {
    S3Requests requests();

    /** Returns the URL of the object with a query. */
    URI url(Map<String, String> query);

    /** Returns what names the upload that made an object: if the answer is lost, the object still tells. */
    String mark();

    String markHeader();

    /** Returns the bytes of a part, and of the largest object that has none. */
    int partBytes();

    /** Returns whether an object of this size is sent by one request. */
    default boolean isWhole(long size) {
        return size <= partBytes();
    }

    /** Returns the headers of this request. */
    Map<String, String> headers();

    /** Returns whether an answer to this request says that the object, or a part, is there. */
    boolean isStored(String method, HttpResponse<byte[]> answer);

    /** Returns what {@link #isStored} wants, in words. */
    String stored(String method);

    /** Returns in what an answer about the object differs from what was sent; empty if it does not, or tells nothing. */
    default Optional<String> mismatch(HttpResponse<byte[]> answer) {
        return Optional.empty();
    }

    /** Returns the statuses of the answer to DELETE. */
    Set<Integer> deleted();

    /**
     * Begins an upload in parts.
     *
     * @param onlyNew whether an object that exists already is left as it is, which is an error
     */
    Parts begin(boolean onlyNew);
}
