package io.gds4j.remote;

import io.gds4j.source.RangeSource;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.InvalidPathException;
import java.util.List;

/** The objects of an HTTP server, which has no lists of them. */
record HttpStore(URI origin, HttpConnections connections) implements ObjectStore {
    @Override
    public URI uri(List<String> names) {
        try {
            return new URI(
                    origin.getScheme(), origin.getUserInfo(), origin.getHost(), origin.getPort(),
                    "/" + String.join("/", names), null, null);
        } catch (URISyntaxException e) {
            throw new InvalidPathException(String.join("/", names), e.getReason());
        }
    }

    @Override
    public RangeSource open(URI uri) {
        return connections.open(uri);
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
