package io.gds4j.remote;

import java.net.URI;
import java.net.http.HttpResponse;
import java.util.Map;

/** Proves who sends a request. Thread-safe. */
@FunctionalInterface
interface Signer {
    /** SHA-256 of no bytes. */
    String EMPTY_BODY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    /** In the place of the digest of a body that the signature does not cover. */
    String UNSIGNED_BODY = "UNSIGNED-PAYLOAD";

    /** Signs nothing. */
    Signer NONE = (method, place, bodySha256, sent) -> Map.of();

    /**
     * Returns the headers that a request needs.
     *
     * @param sent other headers that the request sends; a signature covers some
     */
    Map<String, String> headers(String method, URI place, String bodySha256, Map<String, String> sent);

    /** Returns whether the signature covers the digest of a body. */
    default boolean coversBody() {
        return false;
    }

    /**
     * Learns from an answer that refuses a request.
     *
     * @param code code of the error; empty if the answer has none
     * @return whether the server may accept another signature
     */
    default boolean corrects(HttpResponse<?> refusal, String code) {
        return false;
    }
}
