package io.gds4j.remote;

import java.net.URI;
import java.net.http.HttpResponse;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/** The object that an upload makes. Every upload is a session: only that lets the server refuse to replace an object. */
record GcsTarget(GcsStore store, String name, S3Requests requests, String mark, GcsContent content)
        implements
            UploadTarget {

    /** Name of the metadata that has the mark. */
    static final String MARK = "gds4j-upload";

    /** What the answer has when the object is there. */
    private static final Pattern GENERATION = Pattern.compile("\"generation\"\\s*:\\s*\"\\d+\"");

    @Override
    public URI url(Map<String, String> query) {
        return store.url(name, query);
    }

    @Override
    public String markHeader() {
        return "x-goog-meta-" + MARK;
    }

    @Override
    public int partBytes() {
        return store.options().partBytes();
    }

    @Override
    public boolean isWhole(long size) {
        return false;
    }

    @Override
    public Map<String, String> headers() {
        return Map.of();
    }

    @Override
    public boolean isStored(String method, HttpResponse<byte[]> answer) {
        return answer.statusCode() / 100 == 2 && GENERATION.matcher(S3Requests.text(answer)).find();
    }

    @Override
    public String stored(String method) {
        return "the generation of the object";
    }

    @Override
    public Optional<String> mismatch(HttpResponse<byte[]> answer) {
        return content.mismatch(answer);
    }

    /** Google's answer has no body, that of emulators has one. */
    @Override
    public Set<Integer> deleted() {
        return Set.of(200, 204);
    }

    @Override
    public Parts begin(boolean onlyNew) {
        return GcsSession.begin(this, onlyNew);
    }
}
