package io.gds4j.remote;

import io.gds4j.source.SourcePath;
import java.net.URI;
import java.util.Objects;

/**
 * Files of the Hugging Face hub as paths, for what takes paths: the loader and {@code CuFileDriver.openFile}.
 *
 * <pre>{@code
 * SourcePath path = HubFiles.path(URI.create("hf://org/model"), HubOptions.fromEnvironment());
 * Checkpoint checkpoint = Checkpoint.open(path);
 * }</pre>
 *
 * @since 0.1
 */
public final class HubFiles {
    private HubFiles() {
    }

    /**
     * Returns the path of a repository, a folder or a file. Sends nothing yet. The first use asks the hub for the commit of the revision: the path and
     * those resolved from it have the files of this commit from then on. Files of this commit that the cache has are read there.
     *
     * @param uri {@code hf://ORG/MODEL[@REVISION][/FILE]}, or {@code hf://datasets/ORG/NAME}; a slash in a revision is {@code %2F}
     * @param options settings
     * @return the path; its text is the URL. It is read-only
     * @throws io.gds4j.error.CuFileException INVALID_VALUE for another URL
     */
    public static SourcePath path(URI uri, HubOptions options) {
        HubNames.Place place = HubNames.of(Objects.requireNonNull(uri, "uri"), options.endpoint());
        return new HttpFileSystem(new HubStore(place.names(), options)).path(URI.create("hf://hub" + place.rest()));
    }
}
