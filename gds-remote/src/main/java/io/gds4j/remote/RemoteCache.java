package io.gds4j.remote;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import java.nio.file.Path;
import java.util.Objects;

/**
 * A local folder that keeps blocks of remote objects. A block belongs to one version of its object, which its ETag tells; objects
 * without a strong ETag are not kept. Several processes may share the folder.
 *
 * @param folder the folder; created if necessary. Files that are no blocks are neither counted nor deleted
 * @param limitBytes bytes above which the blocks used longest ago are deleted, 16 MiB or more. For a short time the folder may
 *        hold a sixteenth more for each process, and the blocks that are being stored
 * @since 0.1
 */
public record RemoteCache(Path folder, long limitBytes) {
    private static final long LEAST = 16L << 20;

    /** Checks the limit. */
    public RemoteCache {
        Objects.requireNonNull(folder, "folder");
        if (limitBytes < LEAST) {
            throw CuFileException.of(
                    CuFileError.INVALID_VALUE, "RemoteCache",
                    "limitBytes is %s, allowed: %s and more".formatted(limitBytes, LEAST));
        }
    }
}
