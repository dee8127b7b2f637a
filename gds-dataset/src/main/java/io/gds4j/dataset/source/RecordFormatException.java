package io.gds4j.dataset.source;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.internal.file.FileErrno;
import io.gds4j.internal.file.LinkOutsideException;
import java.io.IOException;
import java.nio.file.Path;

/**
 * A file of a data set that is missing, malformed or does not fit the others. The message is one line that says what is wrong, where,
 * and what is allowed. {@link #error} is INVALID_VALUE for a malformed file and IO_ERROR for a file that cannot be read.
 *
 * @since 0.1
 */
public final class RecordFormatException extends CuFileException {
    private static final long serialVersionUID = 1L;
    private static final String FUNCTION = "RecordFiles";

    private RecordFormatException(CuFileException.Builder builder) {
        super(builder);
    }

    static RecordFormatException malformed(Path file, long offset, String detail) {
        return new RecordFormatException(CuFileException.builder(FUNCTION)
                .error(CuFileError.INVALID_VALUE)
                .path(file)
                .range(offset, -1)
                .detail(detail));
    }

    static RecordFormatException malformed(Path file, String detail) {
        return malformed(file, -1, detail);
    }

    /** Returns the exception for arguments that no file can satisfy. */
    static CuFileException invalid(String detail) {
        return CuFileException.of(CuFileError.INVALID_VALUE, Errno.EINVAL, FUNCTION, detail);
    }

    /** Converts an exception of java.nio. */
    static CuFileException of(Path file, IOException e) {
        int errno = FileErrno.of(e);
        CuFileException.Builder failure = CuFileException.builder(FUNCTION)
                .error(CuFileError.IO_ERROR)
                .errno(errno)
                .path(file)
                .cause(e);
        if (errno == Errno.EINTR) {
            return failure.detail("interrupted while a header was read").buildInterrupted();
        }
        return new RecordFormatException(failure.detail(switch (errno) {
            case Errno.ENOENT -> "no such file";
            case Errno.ELOOP -> "a loop of links";
            case Errno.EIO -> String.valueOf(e.getMessage());
            default -> e instanceof LinkOutsideException outside
                    ? "link not followed: " + outside.getReason()
                    : Errno.text(errno);
        }));
    }
}
