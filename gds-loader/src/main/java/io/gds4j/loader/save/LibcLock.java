package io.gds4j.loader.save;

import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.ffi.posix.StatxResult;
import io.gds4j.internal.text.InertText;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.Set;

/** A lock of the kernel, by calls of libc. */
final class LibcLock implements SaveLock {
    private static final int MAX_ATTEMPTS = 100;
    private static final int MODE = 0666;
    /** Others can guess the name: a link there would create a file anywhere. */
    private static final int FLAGS = PosixConstants.O_RDWR | PosixConstants.O_CREAT | PosixConstants.O_NOFOLLOW;
    private static final int ENOLCK = 37;
    /** What file systems without locks answer, and NFS 3 where its lock service is missing. */
    static final Set<Integer> NO_LOCKS = Set.of(Errno.EINVAL, Errno.ENOSYS, Errno.EOPNOTSUPP, ENOLCK);
    /** Bytes of {@code struct flock}; all others are 0, which locks the whole file. */
    private static final long FLOCK_SIZE = 32;
    private static final long L_TYPE = 0;

    private final Posix posix;
    private final Path file;
    private int fd;

    private LibcLock(Posix posix, Path file, int fd) {
        this.posix = posix;
        this.file = file;
        this.fd = fd;
    }

    /**
     * Takes the lock.
     *
     * @param folder folder of the lock file
     * @throws CuFileException EBUSY if another save has it; the errno of a lock file that cannot be created
     */
    static LibcLock take(Posix posix, Path folder, String name) {
        Path file = folder.resolve(name);
        for (int i = 0; i < MAX_ATTEMPTS; i++) {
            int fd = posix.open(file.toString(), FLAGS, MODE);
            if (fd == -Errno.ELOOP) {
                throw SaveFailure.of(file, "take the lock: the file is a symbolic link", Errno.ELOOP);
            }
            if (fd < 0) {
                throw SaveFailure.of(folder, "write to the folder", -fd);
            }
            LibcLock lock = new LibcLock(posix, file, fd);
            boolean taken = false;
            try {
                lock.lock();
                taken = lock.isThatOfItsName();
            } finally {
                if (!taken) {
                    // it failed, or the holder before deleted the file meanwhile
                    lock.drop();
                }
            }
            if (taken) {
                return lock;
            }
        }
        throw SaveFailure.busy(file);
    }

    /** Locks the file, unless its file system knows no locks. */
    private void lock() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment flock = arena.allocate(FLOCK_SIZE, Long.BYTES);
            flock.set(ValueLayout.JAVA_SHORT, L_TYPE, PosixConstants.F_WRLCK);
            // a lock of the open file, not of the process: two saves of one process exclude each other, too
            int result = posix.fcntl(fd, PosixConstants.F_OFD_SETLK, flock.address());
            while (result == -Errno.EINTR) {
                result = posix.fcntl(fd, PosixConstants.F_OFD_SETLK, flock.address());
            }
            if (result == -Errno.EAGAIN || result == -Errno.EACCES) {
                throw SaveFailure.busy(file);
            }
            if (result < 0 && !NO_LOCKS.contains(-result)) {
                throw SaveFailure.of(file, "lock the file", -result);
            }
        }
    }

    private boolean isThatOfItsName() {
        StatxResult opened = posix.statx(fd);
        StatxResult named = posix.statx(file.toString());
        int error = opened.error() != 0 ? opened.error() : named.error();
        if (error != 0 && error != -Errno.ENOENT) {
            throw SaveFailure.of(file, "find out about the lock file", -error);
        }
        return error == 0 && opened.isSameFile(named);
    }

    private void drop() {
        if (fd >= 0) {
            posix.close(fd);
            fd = -1;
        }
    }

    /** Deletes the file before it drops the lock, so that a later holder sees that the file is another one. */
    @Override
    public void close() {
        if (fd < 0) {
            return;
        }
        int result = posix.unlink(file.toString());
        if (result < 0 && result != -Errno.ENOENT) {
            System.getLogger("io.gds4j.loader")
                    .log(System.Logger.Level.WARNING, "cannot remove the lock file {0}: {1}",
                            InertText.name(file.toString()),
                            Errno.text(-result));
        }
        drop();
    }
}
