package io.gds4j.compat.file;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.OpenFlags;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.ffi.posix.PosixErrors;
import io.gds4j.ffi.posix.StatxResult;
import io.gds4j.internal.file.FoundFile;
import io.gds4j.internal.file.Pages;
import io.gds4j.spi.FileSource;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The private descriptors of a driver session. Handles of the same file in the same mode share one {@link FileDescriptors}, and
 * the last handle closes it. There is one exception: the kernel drops the process's POSIX locks on a file when any descriptor of
 * it is closed, and with them a {@code FileLock} of the program. Descriptors of such a file stay open, unused, until the lock is
 * gone. Each opened and each closed handle makes the table check a few unused descriptors again. Thread-safe.
 */
public final class DescriptorTable {
    private static final String FUNCTION = "cuFileHandleRegister";
    private static final Path PROC_LOCKS = Path.of("/proc/locks");
    private static final int CREATE_MODE = 0666;
    private static final int MODE_BITS = 07777;

    /** Unused descriptors to check for each opened or closed handle: more than one handle may have added. */
    private static final int CHECKS_PER_HANDLE = 2;

    private final Posix posix;
    private final RecordLocks recordLocks;

    /** The descriptors that further handles of a file and mode share. */
    private final Map<FileDescriptors.Key, FileDescriptors> shared = new HashMap<>();

    /** All descriptors, also those that newer ones have replaced in {@link #shared}. */
    private final Set<FileDescriptors> open = new HashSet<>();

    /** Descriptors without handles whose file had a lock of this process at the last check, the longest unchecked first. */
    private final LinkedHashSet<FileDescriptors> unused = new LinkedHashSet<>();

    private final Map<FileKey, SharedState> files = new HashMap<>();

    /** What all open descriptors of one file share. */
    private static final class SharedState {
        private final RangeLocks locks;
        private int users;

        SharedState(RangeLocks locks) {
            this.locks = locks;
        }
    }

    public DescriptorTable(Posix posix) {
        this.posix = posix;
        this.recordLocks = new RecordLocks(posix, PROC_LOCKS);
    }

    /** Opens a file by its path. The caller must give them back by {@link #release}. */
    public FileDescriptors open(FileSource.Named source) {
        closeUnlocked(CHECKS_PER_HANDLE);
        OpenFlags wanted = OpenFlags.of(source.options());
        int access = wanted.access();
        int sync = wanted.sync();
        Path shown = FoundFile.named(source.path());
        StatxResult status = posix.statx(source.path().toString());
        if (status.error() == 0) {
            checkType(status, Optional.of(shown));
            Optional<FileDescriptors> existing = existing(source, status, access, sync);
            if (existing.isPresent()) {
                return existing.get();
            }
        }
        int flags = access | sync | wanted.once();
        // Without O_NONBLOCK, opening a pipe would wait for its other end.
        int fd = openWithinLimit(source.path().toString(), flags | PosixConstants.O_NONBLOCK);
        if (fd == -Errno.EAGAIN) {
            // Another process has a lease on the file; the kernel waits until it gives the lease up.
            fd = openWithinLimit(source.path().toString(), flags);
        }
        if (fd < 0) {
            throw PosixErrors.failure(FUNCTION, "open", fd).path(shown).build();
        }
        return adopt(fd, access, sync, Optional.of(shown));
    }

    /**
     * Returns descriptors that are already open in this mode. After a change of the file's permissions, the kernel decides again
     * whether it may be opened.
     */
    private synchronized Optional<FileDescriptors> existing(
            FileSource.Named source, StatxResult status, int access, int sync) {
        if (source.has(StandardOpenOption.CREATE_NEW)) {
            return Optional.empty();
        }
        FileDescriptors descriptors = shared.get(new FileDescriptors.Key(FileKey.of(status), access, sync));
        if (descriptors == null || descriptors.mode() != (status.mode() & MODE_BITS)) {
            return Optional.empty();
        }
        if (source.has(StandardOpenOption.TRUNCATE_EXISTING)) {
            PosixErrors.check(
                    FUNCTION, "ftruncate", posix.ftruncate(descriptors.bufferedDescriptor(), 0),
                    Optional.of(source.path()));
        }
        return Optional.of(use(descriptors));
    }

    /**
     * Opens the file of a caller's descriptor again. The caller must give them back by {@link #release}.
     *
     * @param flags the descriptor's flags, from {@code F_GETFL}
     */
    public FileDescriptors open(FileSource.Descriptor source, StatxResult status, int flags) {
        closeUnlocked(CHECKS_PER_HANDLE);
        FileDescriptors.Key key = key(status, flags);
        synchronized (this) {
            FileDescriptors descriptors = shared.get(key);
            if (descriptors != null) {
                return use(descriptors);
            }
        }
        int fd = openWithinLimit("/proc/self/fd/" + source.fd(), key.accessMode() | key.syncFlags());
        // The caller may no longer be allowed to open the file. A duplicate serves, but it shares the caller's O_DIRECT,
        // with which the kernel refuses requests that are not aligned, and overwrites memory behind the end of the file.
        if (fd < 0 && (flags & PosixConstants.O_DIRECT) == 0) {
            fd = posix.fcntl(source.fd(), PosixConstants.F_DUPFD_CLOEXEC, 0);
        }
        if (fd < 0) {
            throw PosixErrors.failure(FUNCTION, "opening the descriptor again", fd)
                    .error(CuFileError.GETNEWFD_FAILED)
                    .build();
        }
        return adopt(fd, key.accessMode(), key.syncFlags(), Optional.empty());
    }

    /**
     * Returns the key of the descriptors that serve a caller's descriptor.
     *
     * @param flags the descriptor's flags, from {@code F_GETFL}
     */
    static FileDescriptors.Key key(StatxResult status, int flags) {
        return new FileDescriptors.Key(
                FileKey.of(status), flags & PosixConstants.O_ACCMODE, flags & PosixConstants.O_SYNC);
    }

    private int openWithinLimit(String path, int flags) {
        int fd = posix.open(path, flags, CREATE_MODE);
        if (fd == -Errno.EMFILE || fd == -Errno.ENFILE) {
            closeUnlocked(Integer.MAX_VALUE);
            fd = posix.open(path, flags, CREATE_MODE);
        }
        return fd;
    }

    private FileDescriptors adopt(int fd, int access, int sync, Optional<Path> path) {
        StatxResult status = posix.statx(fd);
        if (status.error() != 0) {
            posix.close(fd);
            throw PosixErrors.failure(FUNCTION, "statx", status.error()).path(path).build();
        }
        try {
            checkType(status, path);
        } catch (CuFileException e) {
            posix.close(fd);
            throw e;
        }
        FileTraits traits = FileTraits.of(status, Math.max(0, posix.fileSystemMagic(fd)));
        FileDescriptors.Key key = new FileDescriptors.Key(FileKey.of(status), access, sync);
        synchronized (this) {
            SharedState file = files.computeIfAbsent(
                    key.file(), any -> new SharedState(new RangeLocks(Math.max(Pages.SIZE, traits.alignment()))));
            file.users++;
            FileDescriptors descriptors =
                    new FileDescriptors(posix, key, traits, fd, status.mode() & MODE_BITS, file.locks);
            open.add(descriptors);
            shared.put(key, descriptors);
            return use(descriptors);
        }
    }

    public static void checkType(StatxResult status, Optional<Path> path) {
        if (!status.isRegularFile() && !status.isBlockDevice()) {
            throw CuFileException.of(CuFileError.INVALID_FILE_TYPE, FUNCTION, path,
                    status.isDirectory() ? "is a directory" : "neither a regular file nor a block device");
        }
    }

    private FileDescriptors use(FileDescriptors descriptors) {
        descriptors.addUsers(1);
        unused.remove(descriptors);
        return descriptors;
    }

    /**
     * Gives descriptors back. The last handle closes them, unless that would drop a lock of the program.
     *
     * @return 0, or the negative errno of a close that says that written bytes are lost
     */
    public int release(FileDescriptors descriptors) {
        List<FileDescriptors> closing;
        synchronized (this) {
            descriptors.addUsers(-1);
            if (descriptors.users() == 0) {
                unused.addFirst(descriptors);
            }
            // At once: another thread that took them might not have closed them when this one asks for the error.
            closing = takeUnlocked(1 + CHECKS_PER_HANDLE);
        }
        closing.forEach(FileDescriptors::close);
        return descriptors.closeError();
    }

    private void closeUnlocked(int most) {
        // Outside the lock: a network file system writes to the server what it holds of the file.
        takeUnlocked(most).forEach(FileDescriptors::close);
    }

    /**
     * Forgets unused descriptors of files on which this process has no lock, and returns them; the caller closes them.
     *
     * @param most number of {@link FileDescriptors} to check
     */
    private synchronized List<FileDescriptors> takeUnlocked(int most) {
        List<FileDescriptors> taken = new ArrayList<>();
        for (int left = Math.min(most, unused.size()); left > 0; left--) {
            FileDescriptors descriptors = unused.removeFirst();
            if (recordLocks.isHeld(descriptors.bufferedDescriptor(), descriptors.key().file())) {
                unused.addLast(descriptors);
            } else {
                forget(descriptors);
                taken.add(descriptors);
            }
        }
        return taken;
    }

    private void forget(FileDescriptors descriptors) {
        FileKey key = descriptors.key().file();
        open.remove(descriptors);
        shared.remove(descriptors.key(), descriptors);
        SharedState file = files.get(key);
        if (file != null && --file.users == 0) {
            files.remove(key);
        }
    }

    /** Closes every descriptor. */
    public synchronized void close() {
        open.forEach(FileDescriptors::close);
        open.clear();
        shared.clear();
        unused.clear();
        files.clear();
    }

    /**
     * Finds the POSIX record locks that this process holds on a file; a {@code FileLock} is one. The kernel drops them when the
     * process closes any descriptor of the file. Not thread-safe.
     *
     * <p>
     * One {@code fcntl} answers, in 1 µs whatever the number of locks: to the kernel an open file description is another owner than
     * the process, so that the process's own locks conflict with it. Only a lock of a third owner may hide one of this process; then
     * {@code /proc/locks} tells, in 30 µs or more.
     */
    private static final class RecordLocks {
        /** Bytes of {@code struct flock}, and where its members are. */
        private static final long FLOCK_SIZE = 32;

        private static final long L_TYPE = 0;
        private static final long L_PID = 24;

        private final Posix posix;
        private final Path table;
        private final MemorySegment query = Arena.ofAuto().allocate(FLOCK_SIZE, Long.BYTES);

        /**
         * @param table {@code /proc/locks}
         */
        RecordLocks(Posix posix, Path table) {
            this.posix = posix;
            this.table = table;
        }

        /** Returns whether this process holds a record lock on a file; true where the kernel does not tell. */
        boolean isHeld(int descriptor, FileKey file) {
            query.fill((byte) 0);
            query.set(JAVA_SHORT, L_TYPE, PosixConstants.F_WRLCK);
            if (posix.fcntl(descriptor, PosixConstants.F_OFD_GETLK, query.address()) == 0) {
                if (query.get(JAVA_SHORT, L_TYPE) == PosixConstants.F_UNLCK) {
                    return false;
                }
                if (query.get(JAVA_INT, L_PID) == ProcessHandle.current().pid()) {
                    return true;
                }
            }
            return isListed(file);
        }

        /** Compares inodes only: with btrfs and overlayfs the table names another device than statx does. */
        private boolean isListed(FileKey file) {
            String holder = " " + ProcessHandle.current().pid() + " ";
            String inode = ":" + file.inode() + " ";
            try {
                return Files.readString(table, StandardCharsets.ISO_8859_1)
                        .lines()
                        .anyMatch(line -> line.contains("POSIX") && line.contains(holder) && line.contains(inode));
            } catch (IOException e) {
                return true;
            }
        }
    }
}
