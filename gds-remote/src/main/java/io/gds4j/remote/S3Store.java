package io.gds4j.remote;

import java.net.URI;
import java.util.List;
import java.util.Map;

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
        String prefix = folder.isEmpty() ? "" : ObjectName.unescaped(String.join("/", folder)).orElseThrow() + "/";
        return new S3Listing(names, new S3Requests(connections)).below(prefix).stream()
                .map(key -> ObjectName.escaped(key.substring(prefix.length()))).toList();
    }
}
