package io.gds4j.loader.internal.file;

import io.gds4j.error.CuFileException;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.ffi.posix.StatxResult;
import io.gds4j.source.FileVersion;
import io.gds4j.source.RangeSource;
import io.gds4j.source.SourcePath;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystemException;
import java.nio.file.FileSystems;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.jspecify.annotations.Nullable;

/**
 * A file that is open for reading by java.nio and tells its version. A channel hides its descriptor, and a look at the name may
 * find another file. So this class opens a descriptor, and the channel through it. Thread-safe.
 */
public final class OpenedFile implements AutoCloseable {
    private static final int NONE = -1;

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
        int fd = path.getFileSystem() == FileSystems.getDefault() ? descriptor(path) : NONE;
        if (fd >= 0) {
            try {
                return new OpenedFile(path, channel(Path.of("/proc/self/fd/" + fd)), fd, null);
            } catch (IOException e) {
                posix().close(fd);
            }
        }
        return new OpenedFile(path, channel(path), NONE, null);
    }

    private static FileChannel channel(Path path) throws IOException {
        return FileChannel.open(path, StandardOpenOption.READ);
    }

    private static int descriptor(Path path) {
        try {
            return posix().open(path.toString(), PosixConstants.O_RDONLY | PosixConstants.O_NONBLOCK, 0);
        } catch (CuFileException e) {
            return NONE; // no access to libc; the driver will say so if it needs any
        }
    }

    private static Posix posix() {
        return FfmPosix.instance();
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
            throw new FileSystemException(path.toString(), null, "statx failed with errno " + -status.error());
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
