package io.gds4j.loader.save;

import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.StatxResult;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Pattern;

/**
 * Files at names that several writers share in one folder, so that others can find them. Who may write to the folder could lay a
 * link there, and a save would write through it. Not thread-safe.
 */
final class GuessableName {
    private static final Pattern ID = Pattern.compile("\\.[0-9a-f]{16}\\.");

    private final FileCalls calls;
    private OptionalInt owner = OptionalInt.empty();

    /** @param calls of one writer, whose user stays the same */
    GuessableName(FileCalls calls) {
        this.calls = calls;
    }

    /**
     * Creates a file, or checks that the file there is one that a writer of this user has created: regular, with one name.
     *
     * @return what the file is; it must still be this one when it is open
     * @throws CuFileException with an errno: ELOOP for a symbolic link, EPERM for a file of another user, with other names, or of
     *         another kind
     */
    StatxResult claim(Path file) {
        Optional<StatxResult> created = calls.create(file);
        return created.isPresent() ? created.get() : check(file);
    }

    /** Checks a file that exists, as {@link #claim}. */
    StatxResult check(Path file) {
        StatxResult there = calls.status(file).orElseThrow(() -> SaveFailure.of(file, "find the file", Errno.ENOENT));
        if (there.isSymbolicLink()) {
            throw SaveFailure.of(file, "write to the file: it is a symbolic link", Errno.ELOOP);
        }
        if (!there.isRegularFile()) {
            throw SaveFailure.of(file, "write to the file: it is not regular", Errno.EPERM);
        }
        checkOwn(file, there);
        return there;
    }

    /**
     * Checks that a writer of this user has created a file or a link, and that it has no other name.
     *
     * @throws CuFileException EPERM
     */
    void checkOwn(Path file, StatxResult there) {
        if (there.links() > 1) {
            throw SaveFailure.of(file, "write to the file: it has another name, too", Errno.EPERM);
        }
        if (owner.isEmpty()) {
            owner = OptionalInt.of(ownerIn(file));
        }
        if (there.user() != owner.getAsInt()) {
            throw SaveFailure.of(file, "write to the file: another user has made it", Errno.EPERM);
        }
    }

    /** Returns whom the file system names as the owner of this process's files: servers map users, root to nobody. */
    private int ownerIn(Path file) {
        // a name of temporary files, so that the next save removes it if this process is killed meanwhile
        String id = "." + HexFormat.of().toHexDigits(ThreadLocalRandom.current().nextLong()) + ".";
        Path probe = file.resolveSibling(ID.matcher(String.valueOf(file.getFileName())).replaceFirst(id));
        StatxResult made = calls.create(probe).orElseThrow(() -> SaveFailure.busy(probe));
        calls.delete(probe);
        return made.user();
    }
}
