package io.gds4j.loader.save;

import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.StatxResult;
import io.gds4j.internal.file.FileErrno;
import io.gds4j.internal.file.FileStatus;
import io.gds4j.internal.file.FoundFile;
import io.gds4j.internal.lifetime.Undo;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;

/** The calls of java.nio, for processes that may not call libc, and for other systems than Linux. */
final class JavaFileCalls implements FileCalls {
    private static final int MAX_ATTEMPTS = 100;
    private static final int PERMISSIONS = 07777;
    private static final int MAX_MARK = 1 << 16;

    /** The locks of this process. Where one is held, its file is not opened again: to close any channel of a file drops the lock of it. */
    private static final Set<Object> HELD = ConcurrentHashMap.newKeySet();

    /** A lock of a channel. */
    private record ChannelLock(FileChannel channel, Path file, Object key) implements SaveLock {
        @Override
        public void close() {
            try (Closeable _ = () -> HELD.remove(key); channel) {
                Files.deleteIfExists(file);
            } catch (IOException e) {
                System.getLogger("io.gds4j.loader").log(
                        System.Logger.Level.WARNING, SaveFailure.of(file, "remove the lock file", FileErrno.of(e))
                                .getMessage());
            }
        }
    }

    /** An interrupt closes a channel, and ends no call of libc: the call is repeated, and the thread stays interrupted. */
    private static <T> T call(Path path, String action, Callable<T> call) {
        boolean interrupted = Thread.interrupted();
        try {
            return call.call();
        } catch (ClosedByInterruptException e) {
            return call(path, action, call);
        } catch (IOException e) {
            throw SaveFailure.of(path, action, FileErrno.of(e));
        } catch (UnsupportedOperationException e) {
            throw SaveFailure.of(path, action, Errno.EOPNOTSUPP);
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new AssertionError(e);
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    @Override
    public SaveLock lock(Path folder, String name) {
        Path file = folder.resolve(name);
        Object key = call(folder, "write to the folder", () -> List.of(Objects.requireNonNullElse(
                Files.readAttributes(folder, BasicFileAttributes.class).fileKey(), folder.toRealPath()), name));
        if (!HELD.add(key)) {
            throw SaveFailure.busy(file);
        }
        return Undo.ifFails(() -> HELD.remove(key), () -> {
            for (int i = 0; i < MAX_ATTEMPTS; i++) {
                Optional<FileChannel> taken = call(file, "lock the file", () -> tryLock(file));
                if (taken.isPresent()) {
                    return new ChannelLock(taken.get(), file, key);
                }
            }
            throw SaveFailure.busy(file);
        });
    }

    /** Returns the channel that has the lock; empty if its holder before has deleted the file meanwhile. */
    private static Optional<FileChannel> tryLock(Path file) throws IOException {
        FileChannel channel = FileChannel.open(
                file, StandardOpenOption.CREATE, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS);
        boolean taken = false;
        try {
            lock(channel, file);
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
        return taken ? Optional.of(channel) : Optional.empty();
    }

    /** Locks the file, unless its file system knows no locks. */
    private static void lock(FileChannel channel, Path file) throws IOException {
        try {
            if (channel.tryLock() == null) {
                throw SaveFailure.busy(file);
            }
        } catch (IOException e) {
            if (!LibcLock.NO_LOCKS.contains(FileErrno.of(e))) {
                throw e;
            }
        }
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
            try (FileChannel channel =
                    FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
                Undo.ifFails(() -> Files.deleteIfExists(file), () -> {
                    ByteBuffer left = ByteBuffer.wrap(content);
                    while (left.hasRemaining()) {
                        channel.write(left);
                    }
                    channel.force(true);
                });
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
            } catch (IOException e) {
                int errno = FileErrno.of(e);
                if (errno == Errno.ENOENT || errno == Errno.ENOTDIR) {
                    return Optional.empty();
                }
                throw e;
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
                setPermissions(found, permissions);
            }
            return true;
        });
    }

    private static void setPermissions(FoundFile found, int permissions) throws IOException {
        try {
            found.setPermissions(permissions);
        } catch (IOException e) {
            if (!NO_PERMISSIONS.contains(FileErrno.of(e))) {
                throw e;
            }
        }
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
            } catch (IOException e) {
                if (!NOTHING_TO_FORCE.contains(FileErrno.of(e))) {
                    throw e;
                }
            }
            return true;
        });
    }
}
