package io.gds4j.loader.save;

import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.StatxResult;
import io.gds4j.internal.file.FileErrno;
import io.gds4j.internal.file.FileStatus;
import io.gds4j.internal.file.FoundFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.Callable;
import java.util.concurrent.ThreadLocalRandom;

/** The calls of java.nio, for processes that may not call libc, and for other systems than Linux. */
final class JavaFileCalls implements FileCalls {
    private static final int MAX_ATTEMPTS = 100;
    private static final int PERMISSIONS = 07777;
    private static final int MAX_MARK = 1 << 16;

    /** A lock of a channel. */
    private record ChannelLock(FileChannel channel, Path file) implements SaveLock {
        @Override
        public void close() {
            try (channel) {
                Files.deleteIfExists(file);
            } catch (IOException e) {
                System.getLogger("io.gds4j.loader").log(
                        System.Logger.Level.WARNING, SaveFailure.of(file, "remove the lock file", FileErrno.of(e))
                                .getMessage());
            }
        }
    }

    private static <T> T call(Path path, String action, Callable<T> call) {
        try {
            return call.call();
        } catch (IOException e) {
            throw SaveFailure.of(path, action, FileErrno.of(e));
        } catch (UnsupportedOperationException e) {
            throw SaveFailure.of(path, action, Errno.EOPNOTSUPP);
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    @Override
    public SaveLock lock(Path folder, String name) {
        Path file = folder.resolve(name);
        for (int i = 0; i < MAX_ATTEMPTS; i++) {
            Optional<SaveLock> taken = call(file, "lock the file", () -> tryLock(file));
            if (taken.isPresent()) {
                return taken.get();
            }
        }
        throw SaveFailure.busy(file);
    }

    /** Returns the lock; empty if its holder before has deleted the file meanwhile. */
    private static Optional<SaveLock> tryLock(Path file) throws IOException {
        FileChannel channel = FileChannel.open(
                file, StandardOpenOption.CREATE, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS);
        boolean taken = false;
        try {
            FileLock lock = channel.tryLock();
            if (lock == null) {
                throw SaveFailure.busy(file);
            }
            // a channel tells no inode, and to open the name would drop the lock: the size shows that the name leads to this file
            long mark = ThreadLocalRandom.current().nextInt(MAX_MARK);
            channel.write(ByteBuffer.allocate(1), mark);
            channel.truncate(mark + 1);
            taken = Files.size(file) == mark + 1;
        } catch (NoSuchFileException e) {
            return Optional.empty();
        } catch (OverlappingFileLockException e) {
            throw SaveFailure.busy(file);
        } finally {
            if (!taken) {
                channel.close();
            }
        }
        return taken ? Optional.of(new ChannelLock(channel, file)) : Optional.empty();
    }

    @Override
    public void createFolder(Path folder, List<Path> made) {
        Path parent = folder.getParent();
        if (parent != null && !Files.isDirectory(parent)) {
            createFolder(parent, made);
        }
        call(folder, "create the folder", () -> {
            try {
                made.add(Files.createDirectory(folder));
            } catch (FileAlreadyExistsException e) {
                if (!Files.isDirectory(folder)) {
                    throw e;
                }
            }
            return true;
        });
        if (parent != null && Files.isReadable(parent)) {
            sync(parent);
        }
    }

    @Override
    public byte[] read(Path file, int most) {
        return call(file, "read the file", () -> {
            try (FoundFile found = FoundFile.at(file)) {
                if (found.status().size() > most) {
                    throw SaveFailure.of(file, "read the file of " + found.status().size() + " bytes", Errno.EFBIG);
                }
                // a pipe would wait for its writer
                return found.status().isRegularFile() ? Files.readAllBytes(found.path()) : new byte[0];
            } catch (IOException e) {
                int errno = FileErrno.of(e);
                if (errno == Errno.ENOENT || errno == Errno.ENAMETOOLONG) {
                    return new byte[0]; // the name of an index may be longer than that of the file
                }
                throw e;
            }
        });
    }

    @Override
    public void write(Path file, byte[] content) {
        call(file, "write the file", () -> {
            Files.deleteIfExists(file);
            boolean forced = false;
            try (FileChannel channel =
                    FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
                ByteBuffer left = ByteBuffer.wrap(content);
                while (left.hasRemaining()) {
                    channel.write(left);
                }
                channel.force(true);
                forced = true;
            } finally {
                if (!forced) {
                    Files.deleteIfExists(file);
                }
            }
            return true;
        });
    }

    @Override
    public Optional<StatxResult> status(Path file) {
        return look(file, LinkOption.NOFOLLOW_LINKS).map(found -> new StatxResult(
                0, 0, found.mode(), found.size(), 0, found.deviceMajor(), found.deviceMinor(), 0, 0, found.inode(), 0,
                0, 0, 0, found.changedSeconds(), found.changedNanos(), found.links(), found.owner(), 0));
    }

    /** Returns what the file system tells of a file; empty if there is none. */
    private static Optional<FileStatus> look(Path file, LinkOption... links) {
        return call(file, "find out about the file", () -> {
            try (FoundFile found = FoundFile.at(file, links)) {
                return Optional.of(found.status());
            } catch (NoSuchFileException | NotDirectoryException e) {
                return Optional.empty();
            }
        });
    }

    private static boolean hasPermissions(Path file) {
        return file.getFileSystem().supportedFileAttributeViews().contains("posix");
    }

    @Override
    public OptionalInt permissions(Path file) {
        Optional<FileStatus> found = hasPermissions(file) ? look(file) : Optional.empty();
        return found.map(status -> OptionalInt.of(status.mode() & PERMISSIONS)).orElse(OptionalInt.empty());
    }

    @Override
    public void setPermissions(Path file, int permissions) {
        if (!hasPermissions(file)) {
            return;
        }
        call(file, "set the permissions of the file", () -> {
            try (FoundFile found = FoundFile.at(file, LinkOption.NOFOLLOW_LINKS)) {
                if (found.status().links() > 1) {
                    throw SaveFailure.of(file, "set the permissions of the file", Errno.ESTALE);
                }
                found.setPermissions(permissions);
            }
            return true;
        });
    }

    @Override
    public void rename(Path from, Path to) {
        call(to, "rename the new file to this name", () -> Files.move(from, to, StandardCopyOption.ATOMIC_MOVE));
    }

    @Override
    public void link(Path existing, Path name) {
        call(name, "link the file", () -> Files.createLink(name, existing));
    }

    @Override
    public void delete(Path file) {
        call(file, "delete the file", () -> Files.deleteIfExists(file));
    }

    /** Java has no call for it. */
    @Override
    public void dropCached(Path file) {
        // what the page cache holds stays there
    }

    @Override
    public void sync(Path folder) {
        if (!hasPermissions(folder)) {
            return; // Windows opens no folders; its file system keeps a journal of names
        }
        call(folder, "force the folder to the disk", () -> {
            if (!Files.isDirectory(folder)) {
                throw new NotDirectoryException(folder.toString()); // a pipe would wait for its writer
            }
            try (FileChannel channel = FileChannel.open(folder, StandardOpenOption.READ)) {
                channel.force(true);
            }
            return true;
        });
    }
}
