package io.gds4j.remote;

import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;

/** The objects of a bucket of Google Cloud Storage: read, listed and deleted by the XML API, which is that of S3, and written by the JSON API. */
record GcsStore(String bucket, GcsOptions options, HttpConnections connections) implements ObjectStore {

    static GcsStore of(String bucket, GcsOptions options) {
        return new GcsStore(bucket, options, HttpConnections.of(
                options.endpoint(), options.http(), options.signer(), options.signer()));
    }

    /** Returns the URL of an object, or of the bucket if the name is empty. */
    URI url(String name, Map<String, String> query) {
        return URI.create("%s/%s%s%s".formatted(options.endpoint(), bucket,
                name.isEmpty() ? "" : "/" + ObjectName.escaped(name), S3Names.query(query)));
    }

    /** Returns the URL that begins an upload. */
    URI upload(Map<String, String> query) {
        return URI.create("%s/upload/storage/v1/b/%s/o%s".formatted(
                options.endpoint(), bucket, S3Names.query(query)));
    }

    @Override
    public URI uri(String rest) {
        return URI.create("gs://%s/%s".formatted(bucket, rest));
    }

    @Override
    public String escaped(String text) {
        return ObjectName.escaped(text);
    }

    @Override
    public URI request(URI uri) {
        return url(S3Names.key(uri), Map.of());
    }

    @Override
    public List<String> list(List<String> folder) {
        return S3Listing.of(folder, query -> url("", query), connections).names();
    }

    @Override
    public Optional<UploadTarget> target(URI uri) {
        return Optional.of(new GcsTarget(
                this, S3Names.key(uri), new S3Requests(connections), UUID.randomUUID().toString(), new GcsContent()));
    }
}
