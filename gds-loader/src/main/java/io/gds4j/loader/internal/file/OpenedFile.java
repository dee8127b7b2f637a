package io.gds4j.loader.internal.file;

import io.gds4j.ffi.posix.Posix;
import io.gds4j.internal.file.FileStatus;
import io.gds4j.internal.file.FoundFile;
import io.gds4j.internal.lifetime.Undo;
import io.gds4j.source.FileVersion;
import io.gds4j.source.RangeSource;
import io.gds4j.source.SourcePath;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.FileSystemLoopException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;

/**
 * A file that is open for reading by java.nio and tells its version. It is found first, so that what and where it is can be checked,
 * and opened afterwards. Thread-safe.
 */
public final class OpenedFile implements AutoCloseable {
    private final FileChannel channel;
    private final @Nullable FoundFile found;
    private final @Nullable RangeSource source;

    private OpenedFile(FileChannel channel, @Nullable FoundFile found, @Nullable RangeSource source) {
        this.channel = channel;
        this.found = found;
        this.source = source;
    }

    /** Opens a file. Where libc cannot, such as for a path of another file system, java.nio does, and tells the size only. */
    public static OpenedFile open(Path path) throws IOException {
        Optional<Path> local = path instanceof SourcePath remote ? remote.localFile() : Optional.empty();
        if (local.isPresent()) {
            return open(local.get());
        }
        if (path.getFileSystem() != FileSystems.getDefault()) {
            FileChannel channel = FileChannel.open(path, StandardOpenOption.READ);
            return new OpenedFile(channel, null, path instanceof SourcePath remote ? remote.openSource() : null);
        }
        FoundFile found = FoundFile.at(ThreadLibc.descriptors(), path);
        return Undo.ifFails(found::close, () -> {
            if (!found.status().isRegularFile()) {
                throw new FileSystemException(path.toString(), null, "not a regular file");
            }
            Links.check(path, found.place());
            FileChannel channel = found.channel();
            return Undo.ifFails(channel::close, () -> {
                if (!found.isHeld() && !found.statusNow().isSameFile(found.status())) {
                    throw new FileSystemException(path.toString(), null, "replaced while it was opened");
                }
                return new OpenedFile(channel, found, null);
            });
        });
    }

    /** Returns the exception for a loop of links if the path is one; java.nio has no exception of its own for that. */
    public static IOException loopOr(Path path, IOException e) {
        if (path.getFileSystem() == FileSystems.getDefault()) {
            try {
                FoundFile.at(ThreadLibc.descriptors(), path).close();
            } catch (FileSystemLoopException loop) {
                return loop;
            } catch (IOException other) {
                return e;
            }
        }
        return e;
    }

    /** Returns the result of an action whose files the thread opens by another libc: tests let its calls fail. */
    public static <T> T with(Posix libc, Callable<T> action) throws Exception {
        return ThreadLibc.with(libc, action);
    }

    /** Returns the rules of this thread. */
    public static Links.Rules rules() {
        Links.Rules links = Links.rules();
        Posix libc = ThreadLibc.other();
        return libc == null ? links : work -> ThreadLibc.run(libc, () -> links.apply(work));
    }

    /** Returns the channel to read from. */
    public FileChannel channel() {
        return channel;
    }

    /** Returns the version of the content now; without native access, of what has the name now. */
    public FileVersion version() throws IOException {
        if (source != null) {
            return new FileVersion(channel.size(), "", source.contentVersion().orElse(""));
        }
        return found == null ? FileVersion.ofSize(channel.size()) : version(found.statusNow());
    }

    /** Returns the version that was checked before the file was opened: what changed since then is noticed later. */
    public FileVersion versionWhenFound() throws IOException {
        return found == null ? version() : version(found.status());
    }

    private static FileVersion version(FileStatus status) {
        return FileVersion.ofInode(
                status.size(), status.deviceMajor(), status.deviceMinor(), status.inode(), status.changedSeconds(),
                status.changedNanos());
    }

    /** Closes the file; reports nothing, because no data can be lost. */
    @Override
    public void close() {
        try {
            channel.close();
        } catch (IOException e) {
            // opened for reading
        } finally {
            if (found != null) {
                found.close();
            }
        }
    }

    /** Returns what is in a folder. A pipe that has its name by now is refused, and not waited for as java.nio does. */
    public static List<Path> list(Path folder) throws IOException {
        boolean isLocal = folder.getFileSystem() == FileSystems.getDefault();
        List<Path> found = new ArrayList<>();
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(isLocal ? folder.resolve(".") : folder)) {
            for (Path entry : entries) {
                found.add(isLocal ? folder.resolve(entry.getFileName()) : entry);
            }
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
        return found;
    }
}
