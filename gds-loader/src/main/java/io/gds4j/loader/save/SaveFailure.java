package io.gds4j.loader.save;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.loader.internal.text.OneLine;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/** Turns exceptions of java.nio into those of gds4j. */
final class SaveFailure {
    /** Public function for messages. */
    static final String FUNCTION = "SavePlan";

    private static final int LONGEST_TEXT = 200;

    /** The JDK keeps only the kernel's text of most errors. */
    private static final Map<String, Integer> ERRNO_BY_TEXT = Map.ofEntries(
            Map.entry("No space left", Errno.ENOSPC),
            Map.entry("quota exceeded", Errno.EDQUOT),
            Map.entry("Read-only file system", Errno.EROFS),
            Map.entry("Operation not permitted", Errno.EPERM),
            Map.entry("Function not implemented", Errno.ENOSYS),
            Map.entry("not supported", Errno.EOPNOTSUPP),
            Map.entry("Invalid argument", Errno.EINVAL),
            Map.entry("Is a directory", Errno.EISDIR),
            Map.entry("File name too long", Errno.ENAMETOOLONG),
            Map.entry("Too many open files", Errno.EMFILE));

    private SaveFailure() {
    }

    /** Returns the exception for a call that failed. */
    static CuFileException of(Path path, String action, IOException e) {
        int errno = errno(e);
        String reason = e instanceof FileSystemException system
                ? Optional.ofNullable(system.getReason()).orElse(Errno.name(errno))
                : String.valueOf(e.getMessage());
        return CuFileException.builder(FUNCTION)
                .error(switch (errno) {
                    case Errno.EACCES, Errno.EPERM, Errno.EROFS -> CuFileError.PERMISSION_DENIED;
                    case Errno.EISDIR -> CuFileError.INVALID_FILE_TYPE;
                    default -> CuFileError.IO_ERROR;
                })
                .errno(errno)
                .path(path)
                .detail("cannot %s: %s".formatted(action, OneLine.of(reason, LONGEST_TEXT)))
                .cause(e)
                .build();
    }

    static int errno(IOException e) {
        return switch (e) {
            case NoSuchFileException none -> Errno.ENOENT;
            case AccessDeniedException denied -> Errno.EACCES;
            case FileAlreadyExistsException there -> Errno.EEXIST;
            case NotDirectoryException file -> Errno.ENOTDIR;
            default -> {
                String text = String.valueOf(e.getMessage());
                yield ERRNO_BY_TEXT.entrySet()
                        .stream()
                        .filter(known -> text.contains(known.getKey()))
                        .map(Map.Entry::getValue)
                        .findFirst()
                        .orElse(Errno.EIO);
            }
        };
    }
}
