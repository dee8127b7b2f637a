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

/**
 * Keeps other saves from the same names, in this process and in others. A file holds the lock; the kernel drops the lock when the
 * process ends, however that happens, so a file that a crash left locks nothing.
 */
final class SaveLock implements AutoCloseable {
    private static final int MOST_ATTEMPTS = 100;
    private static final int MODE = 0666;
    /** Others can guess the name: a link there would create a file anywhere. */
    private static final int FLAGS = PosixConstants.O_RDWR | PosixConstants.O_CREAT | PosixConstants.O_NOFOLLOW;
    /** Bytes of {@code struct flock}; all others are 0, which locks the whole file. */
    private static final long FLOCK_SIZE = 32;
    private static final long L_TYPE = 0;

    private final Posix posix;
    private final Path file;
    private int fd;

    private SaveLock(Posix posix, Path file, int fd) {
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
    static SaveLock take(Posix posix, Path folder, String name) {
        Path file = folder.resolve(name);
        for (int i = 0; i < MOST_ATTEMPTS; i++) {
            int fd = posix.open(file.toString(), FLAGS, MODE);
            if (fd == -Errno.ELOOP) {
                throw SaveFailure.of(file, "take the lock: the file is a symbolic link", Errno.ELOOP);
            }
            if (fd < 0) {
                throw SaveFailure.of(folder, "write to the folder", -fd);
            }
            SaveLock lock = new SaveLock(posix, file, fd);
            if (!lock.lock()) {
                lock.drop();
                throw SaveFailure.busy(file);
            }
            if (lock.isThatOfItsName()) {
                return lock;
            }
            // the holder before deleted the file meanwhile
            lock.drop();
        }
        throw SaveFailure.busy(file);
    }

    /** Returns false if another save has the lock; true where the file system knows no locks. */
    private boolean lock() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment flock = arena.allocate(FLOCK_SIZE, Long.BYTES);
            flock.set(ValueLayout.JAVA_SHORT, L_TYPE, PosixConstants.F_WRLCK);
            // a lock of the open file, not of the process: two saves of one process exclude each other, too
            int result = posix.fcntl(fd, PosixConstants.F_OFD_SETLK, flock.address());
            return result != -Errno.EAGAIN && result != -Errno.EACCES;
        }
    }

    private boolean isThatOfItsName() {
        StatxResult opened = posix.statx(fd);
        StatxResult named = posix.statx(file.toString());
        return opened.error() == 0 && named.error() == 0 && opened.inode() == named.inode();
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
