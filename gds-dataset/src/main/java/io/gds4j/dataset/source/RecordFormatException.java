package io.gds4j.dataset.source;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.internal.file.LinkOutsideException;
import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
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
    /** How java.nio ends the reason for ELOOP, which has no exception of its own. */
    private static final String LOOP = "unable to access attributes of symbolic link";

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
        CuFileException.Builder failure = CuFileException.builder(FUNCTION)
                .error(CuFileError.IO_ERROR)
                .path(file)
                .cause(e);
        return switch (e) {
            case ClosedByInterruptException interrupted -> failure.errno(Errno.EINTR)
                    .detail("interrupted while a header was read")
                    .buildInterrupted();
            case NoSuchFileException missing -> new RecordFormatException(
                    failure.errno(Errno.ENOENT).detail("no such file"));
            case LinkOutsideException outside -> new RecordFormatException(
                    failure.errno(Errno.EACCES).detail("link not followed: " + outside.getReason()));
            case FileSystemException loop when String.valueOf(loop.getReason()).endsWith(LOOP) ->
                new RecordFormatException(failure.errno(Errno.ELOOP).detail("a loop of links"));
            case AccessDeniedException denied -> new RecordFormatException(
                    failure.errno(Errno.EACCES).detail("permission denied"));
            default -> new RecordFormatException(
                    failure.errno(Errno.EIO).detail(String.valueOf(e.getMessage())));
        };
    }
}
