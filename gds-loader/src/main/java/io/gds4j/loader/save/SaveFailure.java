package io.gds4j.loader.save;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import java.nio.file.Path;

/** Makes the exceptions of failed file system calls. */
final class SaveFailure {
    /** Public function for messages. */
    static final String FUNCTION = "SavePlan";

    private SaveFailure() {
    }

    /**
     * Returns the exception for a call that failed.
     *
     * @param action what the call does, as an infinitive
     */
    static CuFileException of(Path path, String action, int errno) {
        return CuFileException.builder(FUNCTION)
                .error(switch (errno) {
                    case Errno.EACCES, Errno.EPERM, Errno.EROFS -> CuFileError.PERMISSION_DENIED;
                    case Errno.EISDIR -> CuFileError.INVALID_FILE_TYPE;
                    default -> CuFileError.IO_ERROR;
                })
                .errno(errno)
                .path(path)
                .detail("cannot " + action)
                .build();
    }

    /** Returns the exception for a temporary file that is not the one which the save wrote. */
    static CuFileException replaced(Path file) {
        return CuFileException.builder(FUNCTION)
                .error(CuFileError.IO_ERROR)
                .errno(Errno.ESTALE)
                .path(file)
                .detail("another save has removed the files of this one")
                .build();
    }

    /** Returns the exception for a save of a name that another one writes. */
    static CuFileException busy(Path path) {
        return CuFileException.builder(FUNCTION)
                .error(CuFileError.IO_ERROR)
                .errno(Errno.EBUSY)
                .path(path)
                .detail("another save writes a checkpoint of this name")
                .build();
    }
}
