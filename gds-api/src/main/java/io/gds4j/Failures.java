package io.gds4j;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;

/** Exceptions that several classes of the API throw. */
final class Failures {
    /** Linux reserves the return values -4095 to -1 for errno; cuFile codes are larger. */
    private static final int MAX_ERRNO = 4095;

    private Failures() {
    }

    /** Adds what a negative result of an entry or operation means: an errno, or a code of cuFile. */
    static CuFileException.Builder ofResult(CuFileException.Builder failure, long result) {
        long code = result < 0 && result > Integer.MIN_VALUE ? -result : 0;
        failure.error(CuFileError.IO_ERROR);
        if (code > 0 && code <= MAX_ERRNO) {
            failure.errno((int) code);
        } else if (code > 0) {
            CuFileError.of((int) code).ifPresent(failure::error);
        }
        return failure;
    }

    /** INVALID_VALUE (EINVAL) for an argument. */
    static CuFileException invalid(String function, String detail) {
        return CuFileException.of(CuFileError.INVALID_VALUE, Errno.EINVAL, function, detail);
    }
}
