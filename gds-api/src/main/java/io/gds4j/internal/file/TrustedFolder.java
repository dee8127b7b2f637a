package io.gds4j.internal.file;

import java.nio.file.Path;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A folder that a user named. Links in it may lead to other files below it and, in the Hugging Face cache, to the blobs of the same
 * repository ({@code models--ORG--NAME/snapshots/REVISION/FILE -> ../../blobs/HASH}). Immutable.
 */
public final class TrustedFolder {
    private static final Pattern REPOSITORY = Pattern.compile("(models|datasets|spaces)--.+", Pattern.DOTALL);

    /** Names that lead elsewhere, or that no folder can have. */
    private static final Pattern ELSEWHERE = Pattern.compile(
            "[\\x00-\\x1f\\x7f\\\\]|^/|/$|//|(?:^|/)\\.{1,2}(?:/|$)|^$");

    private final Path folder;
    private final @Nullable Path blobs;

    /** @param folder absolute path of the folder, without links */
    public TrustedFolder(Path folder) {
        this.folder = folder;
        this.blobs = blobs(folder);
    }

    /** {@return whether a name from elsewhere, with slashes between folders, leads to a file below any folder that it is resolved against} */
    public static boolean isBelow(String name) {
        return !ELSEWHERE.matcher(name).find();
    }

    private static @Nullable Path blobs(Path folder) {
        for (Path revision = folder; revision != null; revision = revision.getParent()) {
            Path snapshots = revision.getParent();
            Path repository = snapshots == null ? null : snapshots.getParent();
            if (repository != null && name(snapshots).equals("snapshots")
                    && REPOSITORY.matcher(name(repository)).matches()) {
                return repository.resolve("blobs");
            }
        }
        return null;
    }

    private static String name(Path path) {
        return String.valueOf(path.getFileName());
    }

    /**
     * Checks where a file of the folder is.
     *
     * @param file the file as the folder names it
     * @param real its absolute path without links
     * @throws LinkOutsideException if it is neither below the folder nor one of the blobs
     */
    public void check(Path file, Path real) throws LinkOutsideException {
        if (!real.startsWith(folder) && (blobs == null || !blobs.equals(real.getParent()))) {
            throw new LinkOutsideException(file, real);
        }
    }
}
