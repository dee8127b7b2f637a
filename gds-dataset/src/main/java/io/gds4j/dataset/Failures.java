package io.gds4j.dataset;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;

/** Makes the exceptions of this package. */
final class Failures {
    static final String FUNCTION = "RecordLoader";

    private Failures() {
    }

    static CuFileException invalid(String detail) {
        return CuFileException.of(CuFileError.INVALID_VALUE, Errno.EINVAL, FUNCTION, detail);
    }

    static CuFileException heap(String detail) {
        return CuFileException.of(CuFileError.NOMEM_ERROR, FUNCTION, detail);
    }

    static CuFileException closed() {
        return CuFileException.of(CuFileError.INVALID_VALUE, Errno.EBADF, FUNCTION, "the loader is closed");
    }
}
