package io.gds4j.remote;

import io.gds4j.source.RangeSource;
import java.net.URI;
import java.util.List;
import java.util.Map;

/** The objects of an S3 bucket. */
record S3Store(S3Names names, HttpConnections connections) implements ObjectStore {
    @Override
    public URI uri(List<String> keys) {
        return names.uri(String.join("/", keys));
    }

    @Override
    public RangeSource open(URI uri) {
        return connections.open(names.url(uri.getPath().substring(1), Map.of()));
    }

    @Override
    public List<String> list(List<String> folder) {
        String prefix = folder.isEmpty() ? "" : String.join("/", folder) + "/";
        return new S3Listing(names, new S3Requests(connections)).below(prefix).stream()
                .map(key -> key.substring(prefix.length())).toList();
    }
}
