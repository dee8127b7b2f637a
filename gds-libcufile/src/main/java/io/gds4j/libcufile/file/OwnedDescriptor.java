package io.gds4j.libcufile.file;

import io.gds4j.CuFileOpenOption;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.OpenFlags;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.ffi.posix.PosixErrors;
import io.gds4j.ffi.posix.StatxResult;
import io.gds4j.internal.file.FoundFile;
import io.gds4j.spi.FileSource;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Optional;

/**
 * A descriptor that belongs to gds4j. The library needs one that stays open as long as its handle, and the program may
 * close or reuse its own at any time.
 *
 * @param fd its number
 * @param flags access mode and status flags
 * @param status result of statx when it was opened
 * @param path the file's name, if the kernel knows one
 * @param isShared the program has the same open file, with its position
 */
public record OwnedDescriptor(int fd, int flags, StatxResult status, Optional<Path> path, boolean isShared) {

    private static final String FUNCTION = "cuFileHandleRegister";
    private static final int CREATE_MODE = 0666;
    private static final int F_SETFL = 4;
    /** Flags of the program's descriptor that its duplicate keeps. */
    private static final int KEPT = PosixConstants.O_ACCMODE | PosixConstants.O_DIRECT | PosixConstants.O_SYNC;

    boolean isReadable() {
        return (flags & PosixConstants.O_ACCMODE) != PosixConstants.O_WRONLY;
    }

    boolean isWritable() {
        return (flags & PosixConstants.O_ACCMODE) != PosixConstants.O_RDONLY;
    }

    boolean isDirect() {
        return (flags & PosixConstants.O_DIRECT) != 0;
    }

    public static OwnedDescriptor open(Posix posix, FileSource source) {
        return switch (source) {
            case FileSource.Named named -> open(posix, named);
            case FileSource.Descriptor descriptor -> duplicate(posix, descriptor.fd());
            case FileSource.Ranges ranges -> throw ranges.refusal("libcufile");
        };
    }

    private static OwnedDescriptor open(Posix posix, FileSource.Named source) {
        Optional<Path> path = Optional.of(FoundFile.named(source.path()));
        StatxResult before = posix.statx(source.path().toString());
        if (before.error() == 0) {
            // Opening some devices has effects.
            checkType(before, path);
        }
        OpenFlags wanted = OpenFlags.of(source.options());
        int flags = wanted.access() | wanted.sync()
                | (source.has(CuFileOpenOption.DIRECT) ? PosixConstants.O_DIRECT : 0);
        int once = wanted.once();
        String name = source.path().toString();
        int fd = open(posix, name, flags | once);
        if (fd == -Errno.EINVAL && source.has(CuFileOpenOption.DIRECT)) {
            // A file system without direct I/O; it may have made the file all the same.
            flags &= ~PosixConstants.O_DIRECT;
            int again = before.error() == 0 ? once : once & ~PosixConstants.O_EXCL;
            fd = open(posix, name, flags | again);
        }
        if (fd < 0) {
            throw PosixErrors.failure(FUNCTION, "open", fd).path(path).build();
        }
        return own(posix, fd, flags, path, false);
    }

    private static int open(Posix posix, String name, int flags) {
        // Without O_NONBLOCK, opening a pipe would wait for its other end.
        int fd = posix.open(name, flags | PosixConstants.O_NONBLOCK, CREATE_MODE);
        // With it, EAGAIN means that another process has a lease on the file; the kernel waits until it gives the lease up.
        return fd == -Errno.EAGAIN ? posix.open(name, flags, CREATE_MODE) : fd;
    }

    private static OwnedDescriptor duplicate(Posix posix, int fd) {
        int flags = posix.fcntl(fd, PosixConstants.F_GETFL, 0);
        StatxResult status = posix.statx(fd);
        if (flags < 0 || status.error() != 0) {
            throw PosixErrors.failure(FUNCTION, "fcntl", flags < 0 ? flags : status.error())
                    .error(CuFileError.INVALID_VALUE)
                    .detail("file descriptor " + fd + " is not open")
                    .build();
        }
        Optional<Path> path = nameOf(fd);
        checkType(status, path);
        if ((flags & PosixConstants.O_APPEND) != 0) {
            throw openFlag(path, "O_APPEND: the kernel would ignore offsets");
        }
        if ((flags & PosixConstants.O_PATH) != 0) {
            throw openFlag(path, "O_PATH: the descriptor cannot do I/O");
        }
        int kept = flags & KEPT;
        int own = posix.open("/proc/self/fd/" + fd, kept, 0);
        boolean shared = own < 0;
        if (shared) {
            // Permissions may have changed since the program opened it: then share its open file.
            own = posix.fcntl(fd, PosixConstants.F_DUPFD_CLOEXEC, 0);
        }
        if (own < 0) {
            throw PosixErrors.failure(FUNCTION, "opening the descriptor again", own)
                    .error(CuFileError.GETNEWFD_FAILED)
                    .path(path)
                    .build();
        }
        return own(posix, own, kept, path, shared);
    }

    private static OwnedDescriptor own(Posix posix, int fd, int flags, Optional<Path> path, boolean shared) {
        boolean done = false;
        try {
            StatxResult status = posix.statx(fd);
            PosixErrors.check(FUNCTION, "statx", status.error(), path);
            checkType(status, path);
            // The library refuses O_NONBLOCK.
            PosixErrors.check(FUNCTION, "fcntl", posix.fcntl(fd, F_SETFL, flags & ~PosixConstants.O_NONBLOCK), path);
            done = true;
            return new OwnedDescriptor(fd, flags, status, path, shared);
        } finally {
            if (!done) {
                posix.close(fd);
            }
        }
    }

    private static void checkType(StatxResult status, Optional<Path> path) {
        if (!status.isRegularFile() && !status.isBlockDevice()) {
            throw CuFileException.of(CuFileError.INVALID_FILE_TYPE, FUNCTION, path,
                    status.isDirectory() ? "is a directory" : "neither a regular file nor a block device");
        }
    }

    private static CuFileException openFlag(Optional<Path> path, String detail) {
        return CuFileException.of(CuFileError.INVALID_FILE_OPEN_FLAG, FUNCTION, path, detail);
    }

    private static Optional<Path> nameOf(int fd) {
        try {
            Path name = Files.readSymbolicLink(Path.of("/proc/self/fd/" + fd));
            return name.isAbsolute() ? Optional.of(name) : Optional.empty();
        } catch (IOException | InvalidPathException e) {
            return Optional.empty();
        }
    }
}
