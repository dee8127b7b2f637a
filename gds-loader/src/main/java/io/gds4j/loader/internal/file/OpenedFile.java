package io.gds4j.loader.internal.file;

import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.ffi.posix.StatxResult;
import io.gds4j.source.FileVersion;
import io.gds4j.source.RangeSource;
import io.gds4j.source.SourcePath;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.FileSystemLoopException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;

/**
 * A file that is open for reading by java.nio and tells its version. A channel hides its descriptor, and a look at the name may
 * find another file. So this class opens a descriptor, checks what and where it is, and opens the channel through it.
 * Thread-safe.
 */
public final class OpenedFile implements AutoCloseable {
    private static final int NONE = -1;
    /** No errno. */
    private static final int NO_LIBC = Integer.MIN_VALUE;

    /** Another libc than that of the process. */
    private static final ScopedValue<Posix> LIBC = ScopedValue.newInstance();

    private final Path path;
    private final FileChannel channel;
    private final int descriptor;
    private final @Nullable RangeSource source;

    private OpenedFile(Path path, FileChannel channel, int descriptor, @Nullable RangeSource source) {
        this.path = path;
        this.channel = channel;
        this.descriptor = descriptor;
        this.source = source;
    }

    /** Opens a file. Where libc cannot, such as for a path of another file system, java.nio does, and tells the size only. */
    public static OpenedFile open(Path path) throws IOException {
        if (path instanceof SourcePath remote) {
            return new OpenedFile(path, channel(path), NONE, remote.openSource());
        }
        if (path.getFileSystem() != FileSystems.getDefault()) {
            return new OpenedFile(path, channel(path), NONE, null);
        }
        int fd = descriptor(path);
        if (fd < 0 && fd != NO_LIBC) {
            // java.nio might find another file now, or wait for the writer of a pipe
            throw failure(path, -fd);
        }
        Optional<Path> place = Optional.empty();
        boolean opened = false;
        try {
            if (fd >= 0) {
                checkRegular(path, posix().statx(fd));
            }
            place = place(fd);
            Links.check(path, place.isPresent() ? place.get() : path.toRealPath());
            OpenedFile file = new OpenedFile(
                    path, channel(place.isPresent() ? itself(fd) : path), place.isPresent() ? fd : NONE, null);
            opened = place.isPresent();
            return file;
        } finally {
            if (fd >= 0 && !opened) {
                posix().close(fd);
            }
        }
    }

    private static void checkRegular(Path path, StatxResult status) throws IOException {
        if (status.error() != 0) {
            throw failure(path, -status.error());
        }
        if (!status.isRegularFile()) {
            throw new FileSystemException(path.toString(), null, "not a regular file");
        }
    }

    /** Returns the absolute path of a folder without links, spelt as the kernel spells the paths of the files below. */
    static Path realPath(Path folder) throws IOException {
        int fd = descriptor(folder);
        try {
            Optional<Path> place = place(fd);
            return place.isPresent() ? place.get() : folder.toRealPath();
        } finally {
            if (fd >= 0) {
                posix().close(fd);
            }
        }
    }

    private static IOException failure(Path path, int errno) {
        return switch (errno) {
            case Errno.ENOENT -> isText(path)
                    ? new NoSuchFileException(path.toString())
                    : new FileSystemException(path.toString(), null, "this machine's encoding cannot spell the name");
            case Errno.EACCES -> new AccessDeniedException(path.toString());
            case Errno.ELOOP -> new FileSystemLoopException(path.toString());
            default -> new CallFailure(path, errno);
        };
    }

    /** A call of libc that failed. */
    public static final class CallFailure extends FileSystemException {
        private static final long serialVersionUID = 1L;

        private final int errno;

        private CallFailure(Path path, int errno) {
            super(path.toString(), null, Errno.text(errno));
            this.errno = errno;
        }

        /** Returns the error number of the call. */
        public int errno() {
            return errno;
        }
    }

    /** Returns whether libc gets the same name: a file may have any bytes as its name. */
    private static boolean isText(Path path) {
        try {
            return Path.of(path.toString()).equals(path);
        } catch (InvalidPathException e) {
            return false;
        }
    }

    /** Returns the exception for a loop of links if the path is one; java.nio has no exception of its own for that. */
    public static IOException loopOr(Path path, IOException e) {
        int fd = path.getFileSystem() == FileSystems.getDefault() ? descriptor(path) : NO_LIBC;
        if (fd >= 0) {
            posix().close(fd);
        }
        return fd == -Errno.ELOOP ? new FileSystemLoopException(path.toString()) : e;
    }

    private static Path itself(int fd) {
        return Path.of("/proc/self/fd/" + fd);
    }

    /** Returns where a file is; empty without a descriptor or without /proc. */
    private static Optional<Path> place(int fd) throws IOException {
        try {
            return fd >= 0 ? Optional.of(Files.readSymbolicLink(itself(fd))) : Optional.empty();
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
    }

    private static FileChannel channel(Path path) throws IOException {
        return FileChannel.open(path, StandardOpenOption.READ);
    }

    /** Opens what the path leads to without access to it: does not wait for the writer of a pipe, and wakes no device. */
    private static int descriptor(Path path) {
        try {
            int fd = posix().open(path.toString(), PosixConstants.O_PATH, 0);
            while (fd == -Errno.EINTR) {
                fd = posix().open(path.toString(), PosixConstants.O_PATH, 0);
            }
            return fd;
        } catch (CuFileException e) {
            return NO_LIBC; // no access to libc; the driver will say so if it needs any
        }
    }

    private static Posix posix() {
        return LIBC.isBound() ? LIBC.get() : FfmPosix.instance();
    }

    /** Returns the result of an action whose files the thread opens by another libc: tests let its calls fail. */
    public static <T> T with(Posix libc, Callable<T> action) throws Exception {
        return ScopedValue.where(LIBC, libc).call(action::call);
    }

    /** Returns the channel to read from. */
    public FileChannel channel() {
        return channel;
    }

    /** Returns the version of the content now. */
    public FileVersion version() throws IOException {
        if (source != null) {
            return new FileVersion(channel.size(), "", source.contentVersion().orElse(""));
        }
        if (descriptor == NONE) {
            return FileVersion.ofSize(channel.size());
        }
        StatxResult status = posix().statx(descriptor);
        if (status.error() != 0) {
            throw failure(path, -status.error());
        }
        return status.version();
    }

    /** Closes the file; reports nothing, because no data can be lost. */
    @Override
    public void close() {
        try {
            channel.close();
        } catch (IOException e) {
            // opened for reading
        } finally {
            if (descriptor != NONE) {
                posix().close(descriptor);
            }
        }
    }
}
