package io.gds4j.rdma;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;

/** Exceptions of verbs: each names the verb, the device and the errno. */
final class RdmaFailure {
    private RdmaFailure() {
    }

    /** Returns the result of a verb that did not fail. */
    static long check(String verb, String device, long result) {
        if (result < 0) {
            throw of(verb, (int) -result, device + " refuses it");
        }
        return result;
    }

    /** Like {@link #check(String, String, long)} for verbs that return no handle. */
    static int check(String verb, String device, int result) {
        return (int) check(verb, device, (long) result);
    }

    static CuFileException of(String verb, int errno, String detail) {
        CuFileError error = switch (errno) {
            case Errno.ENOMEM -> CuFileError.NOMEM_ERROR;
            case Errno.EINVAL -> CuFileError.INVALID_VALUE;
            case Errno.EOPNOTSUPP, Errno.ENOSYS, Errno.EBUSY -> CuFileError.IO_NOT_SUPPORTED;
            case Errno.EPERM, Errno.EACCES -> CuFileError.PERMISSION_DENIED;
            case Errno.ENODEV -> CuFileError.DEVICE_NOT_FOUND;
            default -> CuFileError.IO_ERROR;
        };
        return of(error, verb, errno, detail);
    }

    static CuFileException of(CuFileError error, String verb, int errno, String detail) {
        return CuFileException.of(error, errno, verb, detail);
    }

    /** An argument that no device would take. */
    static CuFileException invalid(String verb, String detail) {
        return of(CuFileError.INVALID_VALUE, verb, Errno.EINVAL, detail);
    }
}
