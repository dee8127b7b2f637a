package io.gds4j.remote;

import java.net.URI;
import java.util.List;

/** The objects of an HTTP server, which has no lists of them. */
record HttpStore(URI origin, HttpConnections connections) implements ObjectStore {
    @Override
    public URI uri(String rest) {
        return URI.create("%s://%s/%s".formatted(origin.getScheme(), origin.getRawAuthority(), rest));
    }

    @Override
    public String escaped(String names) {
        return ObjectName.inPath(names);
    }

    @Override
    public URI request(URI uri) {
        return uri;
    }

    @Override
    public List<String> list(List<String> folder) {
        return List.of();
    }

    @Override
    public String toString() {
        return ObjectName.shown(origin);
    }
}
