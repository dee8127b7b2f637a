package io.gds4j.interop.dlpack;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;

/** The exceptions of this package. */
final class Refusals {
    private static final String FUNCTION = "DLPack";

    private Refusals() {
    }

    static CuFileException invalid(String detail) {
        return of(CuFileError.INVALID_VALUE, detail);
    }

    static CuFileException busy(String detail) {
        return CuFileException.of(CuFileError.IO_NOT_SUPPORTED, Errno.EBUSY, FUNCTION, detail);
    }

    static CuFileException of(CuFileError error, String detail) {
        return CuFileException.of(error, FUNCTION, detail);
    }
}
