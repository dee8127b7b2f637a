package io.gds4j.remote;

import io.gds4j.source.RangeSource;
import java.net.URI;
import java.util.List;

/** A server of objects under names. Thread-safe. */
sealed interface ObjectStore permits HttpStore, S3Store {
    /** Returns the URL of names below the root. */
    URI uri(List<String> names);

    /** Opens the object of a URL of this store. */
    RangeSource open(URI uri);

    /** Returns the names directly below a folder, those of folders with a slash at the end; empty if it is none. */
    List<String> list(List<String> folder);
}
