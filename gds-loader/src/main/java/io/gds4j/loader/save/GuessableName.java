package io.gds4j.loader.save;

import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.ffi.posix.StatxResult;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Pattern;

/**
 * Files at names that several writers share, so that others can find them. Who may write to the folder could lay a link there, and
 * a save would write through it.
 */
final class GuessableName {
    private static final int MODE = 0666;
    private static final Pattern ID = Pattern.compile("\\.[0-9a-f]{16}\\.");

    private GuessableName() {
    }

    /**
     * Creates a file, or checks that the file there is one that a writer of this user has created: regular, with one name.
     *
     * @return what the file is; it must still be this one when it is open
     * @throws CuFileException with an errno: ELOOP for a symbolic link, EPERM for a file of another user, with other names, or of
     *         another kind
     */
    static StatxResult claim(Path file) {
        Posix posix = FfmPosix.instance();
        int created = create(posix, file);
        if (created >= 0) {
            return describeAndClose(posix, file, created);
        }
        if (created != -Errno.EEXIST) {
            throw SaveFailure.of(file, "create the file", -created);
        }
        return check(file);
    }

    /** Returns a descriptor of a new file, or {@code -errno}: EEXIST if anything has its name. */
    private static int create(Posix posix, Path file) {
        return posix.open(
                file.toString(), PosixConstants.O_RDWR | PosixConstants.O_CREAT | PosixConstants.O_EXCL, MODE);
    }

    /** Checks a file that exists, as {@link #claim}. */
    static StatxResult check(Path file) {
        StatxResult there = describe(file);
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
    static void checkOwn(Path file, StatxResult there) {
        if (there.links() > 1) {
            throw SaveFailure.of(file, "write to the file: it has another name, too", Errno.EPERM);
        }
        if (there.user() != ownerIn(file)) {
            throw SaveFailure.of(file, "write to the file: another user has made it", Errno.EPERM);
        }
    }

    /** Returns what a file or a link itself is. */
    static StatxResult describe(Path file) {
        Posix posix = FfmPosix.instance();
        int fd = posix.open(file.toString(), PosixConstants.O_PATH | PosixConstants.O_NOFOLLOW, 0);
        if (fd < 0) {
            throw SaveFailure.of(file, "find the file", -fd);
        }
        return describeAndClose(posix, file, fd);
    }

    private static StatxResult describeAndClose(Posix posix, Path file, int fd) {
        StatxResult status = posix.statx(fd);
        posix.close(fd);
        if (status.error() != 0) {
            throw SaveFailure.of(file, "read the owner of the file", -status.error());
        }
        return status;
    }

    /** Returns whom the file system names as the owner of this process's files: servers map users, root to nobody. */
    private static int ownerIn(Path file) {
        Posix posix = FfmPosix.instance();
        // a name of temporary files, so that the next save removes it if this process is killed meanwhile
        String id = "." + HexFormat.of().toHexDigits(ThreadLocalRandom.current().nextLong()) + ".";
        Path probe = file.resolveSibling(ID.matcher(String.valueOf(file.getFileName())).replaceFirst(id));
        int fd = create(posix, probe);
        if (fd < 0) {
            throw SaveFailure.of(file, "create a file in its folder", -fd);
        }
        posix.unlink(probe.toString());
        return describeAndClose(posix, file, fd).user();
    }
}
