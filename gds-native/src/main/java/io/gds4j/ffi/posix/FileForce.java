package io.gds4j.ffi.posix;

import io.gds4j.error.Errno;
import java.util.Set;

/**
 * Forces one open file to the disk. The kernel reports a lost write once for each open file, and then success, although the bytes
 * are gone. So a failure stays until the file is closed. Thread-safe.
 */
public final class FileForce {
    /** What the kernel answers when it could not write. */
    private static final Set<Integer> LOST = Set.of(Errno.EIO, Errno.ENOSPC, Errno.EDQUOT);

    private int failure;

    /**
     * Calls fsync(2) or fdatasync(2).
     *
     * @param metadata true for fsync
     * @return 0 or {@code -errno}: that of the first failure if bytes were lost
     */
    public synchronized int force(Posix posix, int fd, boolean metadata) {
        if (failure != 0) {
            return failure;
        }
        int result = metadata ? posix.fsync(fd) : posix.fdatasync(fd);
        if (LOST.contains(-result)) {
            failure = result;
        }
        return result;
    }
}
