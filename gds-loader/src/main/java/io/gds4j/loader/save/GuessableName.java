package io.gds4j.loader.save;

import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Map;

/**
 * Files at names that several writers share, so that others can guess them. Who may write to the folder could lay a link there, and
 * a save would write through it.
 */
final class GuessableName {
    private static final int MODE = 0666;

    private GuessableName() {
    }

    /**
     * Creates a file, or checks that the file there is one that a writer of this user has created: regular, with one name.
     *
     * @throws CuFileException with an errno: ELOOP for a symbolic link, EPERM for a file of another user, with other names, or of
     *         another kind
     */
    static void claim(Path file) {
        Posix posix = FfmPosix.instance();
        int created = posix.open(
                file.toString(), PosixConstants.O_RDWR | PosixConstants.O_CREAT | PosixConstants.O_EXCL, MODE);
        if (created >= 0) {
            posix.close(created);
            return;
        }
        if (created != -Errno.EEXIST) {
            throw SaveFailure.of(file, "create the file", -created);
        }
        Map<String, Object> there = attributes(file);
        if (Boolean.TRUE.equals(there.get("isSymbolicLink"))) {
            throw SaveFailure.of(file, "write to the file: it is a symbolic link", Errno.ELOOP);
        }
        if (!Boolean.TRUE.equals(there.get("isRegularFile"))) {
            throw SaveFailure.of(file, "write to the file: it is not regular", Errno.EPERM);
        }
        if ((Integer) there.get("nlink") > 1) {
            throw SaveFailure.of(file, "write to the file: it has another name, too", Errno.EPERM);
        }
        if (!there.get("uid").equals(ownerIn(file))) {
            throw SaveFailure.of(file, "write to the file: another user has made it", Errno.EPERM);
        }
    }

    private static Map<String, Object> attributes(Path file) {
        try {
            return Files.readAttributes(
                    file, "unix:uid,nlink,isRegularFile,isSymbolicLink", LinkOption.NOFOLLOW_LINKS);
        } catch (IOException e) {
            throw SaveFailure.of(file, "read the owner of the file", Errno.EIO);
        }
    }

    /** Returns whom the file system names as the owner of this process's files: servers map users, root to nobody. */
    private static Object ownerIn(Path file) {
        try {
            Path probe = Files.createTempFile(file.toAbsolutePath().getParent(), ".gds4j-", ".tmp");
            try {
                return Files.getAttribute(probe, "unix:uid", LinkOption.NOFOLLOW_LINKS);
            } finally {
                Files.delete(probe);
            }
        } catch (IOException e) {
            throw SaveFailure.of(file, "create a file in its folder", Errno.EIO);
        }
    }
}
