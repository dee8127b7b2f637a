package io.gds4j.compat.file;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Finds the POSIX record locks that this process holds on a file; a {@code FileLock} is one. The kernel drops them when the
 * process closes any descriptor of the file. Not thread-safe.
 *
 * <p>
 * One {@code fcntl} answers, in 1 µs whatever the number of locks: to the kernel an open file description is another owner than
 * the process, so that the process's own locks conflict with it. Only a lock of a third owner may hide one of this process; then
 * {@code /proc/locks} tells, in 30 µs or more.
 */
final class RecordLocks {
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
