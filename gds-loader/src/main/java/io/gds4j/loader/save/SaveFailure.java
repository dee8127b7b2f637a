package io.gds4j.loader.save;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.internal.file.FoundFile;
import java.nio.file.Path;

/** Makes the exceptions of failed file system calls. */
final class SaveFailure {
    /** Public function for messages. */
    static final String FUNCTION = "SavePlan";

    private SaveFailure() {
    }

    /** Does work behind the commit of a save. A failure says that the new checkpoint is in place, though something is left to do. */
    static void behindCommit(Runnable work) {
        try {
            work.run();
        } catch (CuFileException e) {
            throw with(e, "the new checkpoint is in place");
        }
    }

    /** Returns a failure with a remark. */
    static CuFileException with(CuFileException failure, String remark) {
        return CuFileException.builder(failure.function())
                .error(failure.error())
                .errno(failure.errno().orElse(0))
                .path(failure.path())
                .detail(failure.detail() + "; " + remark)
                .cause(failure)
                .build();
    }

    /**
     * Returns the exception for a call that failed.
     *
     * @param action what the call does, as an infinitive
     */
    static CuFileException of(Path path, String action, int errno) {
        CuFileError error = switch (errno) {
            case Errno.EACCES, Errno.EPERM, Errno.EROFS -> CuFileError.PERMISSION_DENIED;
            case Errno.EISDIR -> CuFileError.INVALID_FILE_TYPE;
            default -> CuFileError.IO_ERROR;
        };
        return of(error, path, errno, "cannot " + action);
    }

    /** Returns the exception for a temporary file that is not the one which the save wrote. */
    static CuFileException replaced(Path file) {
        return of(CuFileError.IO_ERROR, file, Errno.ESTALE, "another save has removed the files of this one");
    }

    /** Returns the exception for a save whose thread is interrupted, or which a program cancels. */
    static CuFileInterruptedException interrupted(Path path, String detail) {
        return CuFileException.builder(FUNCTION).error(CuFileError.IO_ERROR).errno(Errno.EINTR).path(path)
                .detail(detail)
                .buildInterrupted();
    }

    /** Returns the exception for a save of a name that another one writes. */
    static CuFileException busy(Path path) {
        return of(CuFileError.IO_ERROR, path, Errno.EBUSY, "another save writes a checkpoint of this name");
    }

    /** Returns the exception for a place that already holds something else. */
    static CuFileException taken(Path path, String detail) {
        return of(CuFileError.IO_ERROR, path, Errno.EEXIST, detail);
    }

    /** Returns the exception for a store that failed. */
    static CuFileException of(Path object, String detail, Exception cause) {
        return CuFileException.builder(FUNCTION)
                .error(CuFileError.IO_ERROR)
                .errno(Errno.EIO)
                .path(object)
                .detail(detail + ": " + cause.getMessage())
                .cause(cause)
                .build();
    }

    static CuFileException of(CuFileError error, Path path, int errno, String detail) {
        return CuFileException.builder(FUNCTION).error(error).errno(errno).path(FoundFile.named(path)).detail(detail)
                .build();
    }
}
