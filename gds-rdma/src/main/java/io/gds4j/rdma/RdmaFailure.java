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

    /**
     * Refuses a part that is not inside.
     *
     * @param length bytes of the whole
     * @param whole what the whole is, in front of its bytes; nothing if that is clear
     */
    static void requireInside(String function, long offset, long size, long length, String whole) {
        if (offset < 0 || size < 0 || offset > length - size) {
            throw CuFileException.builder(function)
                    .error(CuFileError.INVALID_MAPPING_RANGE)
                    .errno(Errno.EINVAL)
                    .range(-1, size)
                    .detail("offset %s, of %s%s bytes".formatted(offset, whole, length))
                    .build();
        }
    }

    /** An argument that no device would take. */
    static CuFileException invalid(String verb, String detail) {
        return of(CuFileError.INVALID_VALUE, verb, Errno.EINVAL, detail);
    }
}
