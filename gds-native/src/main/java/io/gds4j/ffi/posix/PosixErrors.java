package io.gds4j.ffi.posix;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import java.nio.file.Path;
import java.util.Optional;

/** Turns errno into an exception. */
public final class PosixErrors {
    private PosixErrors() {
    }

    /**
     * Begins the exception of a failed system call, with code, errno, and the name of the call.
     *
     * @param function C name of the cuFile function that failed, or of the system call if there is none
     * @param call the system call
     * @param negativeErrno result of the call
     */
    public static CuFileException.Builder failure(String function, String call, long negativeErrno) {
        int errno = (int) -negativeErrno;
        return CuFileException.builder(function).error(code(errno)).errno(errno).detail(call + " failed");
    }

    /** Returns {@code result} if it is not negative, else throws. */
    public static long check(String function, String call, long result, Optional<Path> path) {
        if (result < 0) {
            throw failure(function, call, result).path(path).build();
        }
        return result;
    }

    /**
     * Reserves disk space for the first {@code size} bytes of a file; only extends the file where the file system cannot
     * reserve.
     *
     * @return true if the space is reserved
     */
    public static boolean reserve(Posix posix, int fd, long size, Optional<Path> path) {
        long result = posix.fallocate(fd, 0, 0, size);
        while (result == -Errno.EINTR) {
            result = posix.fallocate(fd, 0, 0, size);
        }
        if (result != -Errno.EOPNOTSUPP && result != -Errno.ENOSYS) {
            check("fallocate", "fallocate", result, path);
            return true;
        }
        StatxResult status = posix.statx(fd);
        check("fallocate", "statx", status.error(), path);
        if (status.size() < size) {
            check("fallocate", "ftruncate", posix.ftruncate(fd, size), path);
        }
        return false;
    }

    /** Returns the cuFile code for an errno. */
    public static CuFileError code(int errno) {
        return switch (errno) {
            case Errno.EACCES, Errno.EPERM, Errno.EROFS -> CuFileError.PERMISSION_DENIED;
            case Errno.EINVAL, Errno.ENOENT, Errno.ENOTDIR, Errno.ENAMETOOLONG, Errno.ELOOP, Errno.EEXIST ->
                CuFileError.INVALID_VALUE;
            case Errno.EISDIR -> CuFileError.INVALID_FILE_TYPE;
            case Errno.EBADF -> CuFileError.INVALID_FILE_OPEN_FLAG;
            case Errno.ENOMEM -> CuFileError.NOMEM_ERROR;
            case Errno.EOPNOTSUPP, Errno.ENOSYS -> CuFileError.IO_NOT_SUPPORTED;
            default -> CuFileError.IO_ERROR;
        };
    }
}
