package io.gds4j.remote;

import java.net.URI;
import java.net.http.HttpResponse;
import java.util.Map;
import java.util.Set;

/** The blob that an upload makes. */
record AzureTarget(AzureStore store, String name, S3Requests requests, String mark) implements UploadTarget {

    /** The header of the mark: names of metadata have no hyphens. */
    static final String MARK = "x-ms-meta-gds4j_upload";

    @Override
    public URI url(Map<String, String> query) {
        return store.url(name, query);
    }

    @Override
    public String markHeader() {
        return MARK;
    }

    @Override
    public int partBytes() {
        return store.options().partBytes();
    }

    @Override
    public Map<String, String> headers() {
        return Map.of(MARK, mark, "x-ms-blob-type", "BlockBlob");
    }

    @Override
    public boolean isStored(String method, HttpResponse<byte[]> answer) {
        return answer.statusCode() == 201 && answer.headers().firstValue("x-ms-request-id").isPresent();
    }

    @Override
    public String stored(String method) {
        return "status 201 and an x-ms-request-id";
    }

    @Override
    public Set<Integer> deleted() {
        return Set.of(202);
    }

    @Override
    public Parts begin(boolean onlyNew) {
        return new AzureBlocks(this);
    }
}
