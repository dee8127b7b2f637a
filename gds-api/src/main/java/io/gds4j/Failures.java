package io.gds4j;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;

/** Exceptions that several classes of the API throw. */
final class Failures {
    private Failures() {
    }

    /** INVALID_VALUE (EINVAL) for an argument. */
    static CuFileException invalid(String function, String detail) {
        return CuFileException.of(CuFileError.INVALID_VALUE, Errno.EINVAL, function, detail);
    }
}
