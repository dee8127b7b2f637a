package io.gds4j.remote;

import io.gds4j.error.CuFileException;
import java.nio.file.Path;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A local folder that keeps blocks of remote objects. A block belongs to one version of its object, which its ETag tells; objects
 * without a strong ETag are not kept. Several processes may share the folder.
 *
 * @since 0.1
 */
public final class RemoteCache {
    private static final long MIN_BYTES = 16L << 20;

    private final Path folder;
    private final long limitBytes;

    /**
     * Checks the limit.
     *
     * @param folder as {@link #folder}
     * @param limitBytes as {@link #limitBytes}
     */
    public RemoteCache(Path folder, long limitBytes) {
        Objects.requireNonNull(folder, "folder");
        if (limitBytes < MIN_BYTES) {
            throw CuFileException.invalid(
                    "RemoteCache", "limitBytes is %s, allowed: %s and more".formatted(limitBytes, MIN_BYTES));
        }
        this.folder = folder;
        this.limitBytes = limitBytes;
    }

    /** {@return the folder; created if necessary. Files that are no blocks of this user are neither counted nor deleted} */
    public Path folder() {
        return folder;
    }

    /**
     * {@return bytes above which the blocks used longest ago are deleted, 16 MiB or more. For a short time the folder may hold a
     * sixteenth more for each process, and the blocks that are being stored}
     */
    public long limitBytes() {
        return limitBytes;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof RemoteCache that && limitBytes == that.limitBytes && folder.equals(that.folder);
    }

    @Override
    public int hashCode() {
        return Objects.hash(folder, limitBytes);
    }

    @Override
    public String toString() {
        return "RemoteCache[folder=" + folder + ", limitBytes=" + limitBytes + ']';
    }
}
