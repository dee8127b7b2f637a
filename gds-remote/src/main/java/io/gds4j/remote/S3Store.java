package io.gds4j.remote;

import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;

/** The objects of an S3 bucket. */
record S3Store(S3Names names, HttpConnections connections) implements ObjectStore {
    @Override
    public URI uri(String rest) {
        return names.uri(rest);
    }

    @Override
    public String escaped(String text) {
        return ObjectName.escaped(text);
    }

    @Override
    public URI request(URI uri) {
        return names.url(S3Names.key(uri), Map.of());
    }

    @Override
    public List<String> list(List<String> folder) {
        return S3Listing.of(folder, query -> names.url("", query), connections).names();
    }

    @Override
    public Optional<UploadTarget> target(URI uri) {
        return Optional.of(new S3Target(
                names, new S3Requests(connections), S3Names.key(uri), UUID.randomUUID().toString()));
    }
}
