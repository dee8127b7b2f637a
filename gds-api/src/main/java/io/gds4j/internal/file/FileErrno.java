package io.gds4j.internal.file;

import io.gds4j.error.Errno;
import io.gds4j.internal.file.FoundFile.CallFailure;
import io.gds4j.internal.text.SystemReason;
import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemLoopException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;

/** The error numbers of failures of java.io and java.nio, whose exceptions have none. */
public final class FileErrno {
    private FileErrno() {
    }

    /** {@return the error number of a failure; EIO if nothing tells another one} */
    public static int of(IOException failure) {
        return switch (failure) {
            case CallFailure call -> call.errno();
            case NoSuchFileException missing -> Errno.ENOENT;
            case AccessDeniedException denied -> Errno.EACCES;
            case LinkOutsideException outside -> Errno.EACCES;
            case NotDirectoryException file -> Errno.ENOTDIR;
            case FileAlreadyExistsException there -> Errno.EEXIST;
            case FileSystemLoopException loop -> Errno.ELOOP;
            case ClosedByInterruptException interrupted -> Errno.EINTR;
            default -> SystemReason.of(failure).map(FileErrno::of).orElse(Errno.EIO);
        };
    }

    private static int of(SystemReason reason) {
        return switch (reason) {
            case TOO_MANY_FILES -> Errno.EMFILE;
            case DISK_FULL -> Errno.ENOSPC;
            case BROKEN_PIPE -> Errno.EPIPE;
            case NAME_TOO_LONG -> Errno.ENAMETOOLONG;
            case NOT_A_FOLDER -> Errno.ENOTDIR;
            case A_FOLDER -> Errno.EISDIR;
            case LINK_LOOP, A_LINK -> Errno.ELOOP;
            case READ_ONLY -> Errno.EROFS;
            case QUOTA -> Errno.EDQUOT;
            case FILE_TOO_LARGE -> Errno.EFBIG;
            case NOT_PERMITTED -> Errno.EPERM;
            case NOT_SUPPORTED -> Errno.EOPNOTSUPP;
            case NOT_IMPLEMENTED -> Errno.ENOSYS;
            case INVALID_ARGUMENT -> Errno.EINVAL;
        };
    }
}
