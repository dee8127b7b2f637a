package io.gds4j.ffi.posix;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import java.nio.file.Path;
import java.util.Optional;

/** The one place that turns errno into an exception. */
public final class PosixErrors {
    private PosixErrors() {
    }

    /**
     * Begins the exception for a failed system call: code and errno are set, the text names the call.
     *
     * @param function C name of the cuFile function (or system call, where there is none) that failed
     * @param call the system call
     * @param negativeErrno its answer
     */
    public static CuFileException.Builder failure(String function, String call, long negativeErrno) {
        int errno = (int) -negativeErrno;
        return CuFileException.builder(function).error(code(errno)).errno(errno).detail(call + " failed");
    }

    /** {@code result} if it is not negative. */
    public static long check(String function, String call, long result, Optional<Path> path) {
        if (result < 0) {
            throw failure(function, call, result).path(path).build();
        }
        return result;
    }

    /** The cuFile code that stands beside an errno. */
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
