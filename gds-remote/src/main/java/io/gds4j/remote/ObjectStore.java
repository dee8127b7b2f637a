package io.gds4j.remote;

import io.gds4j.source.RangeSource;
import java.net.URI;
import java.util.List;
import java.util.Optional;

/** A server of objects under names. Thread-safe. */
sealed interface ObjectStore permits HttpStore, S3Store, HubStore, AzureStore, GcsStore {
    /**
     * Returns the URL as programs write it.
     *
     * @param rest what follows the root: escaped names between slashes, and perhaps a query
     */
    URI uri(String rest);

    /** Returns names that a program gives as text. */
    String escaped(String names);

    /** Returns the URL that requests go to. Every spelling of an object's name has the same. */
    URI request(URI uri);

    /** Returns the connections to the server. */
    HttpConnections connections();

    /** Opens the object of a URL of {@link #request}. */
    default RangeSource open(URI request) {
        return connections().open(request);
    }

    /** Returns an object to write; empty if the store is read-only. */
    default Optional<UploadTarget> target(URI uri) {
        return Optional.empty();
    }

    /** Returns the escaped names directly below a folder, those of folders with a slash at the end; empty if it is none. */
    List<String> list(List<String> folder);
}
