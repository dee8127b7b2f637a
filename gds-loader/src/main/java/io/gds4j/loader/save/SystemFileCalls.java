package io.gds4j.loader.save;

import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.ffi.posix.PosixDescriptors;
import io.gds4j.ffi.posix.StatxResult;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/** The calls of libc: java.nio keeps no errno, on which a save decides what to do next. */
final class SystemFileCalls implements FileCalls {
    private static final int MODE_OF_FILES = 0666;
    private static final int MODE_OF_FOLDERS = 0777;
    private static final int PERMISSIONS = 07777;

    /** The libc of this process. */
    static final FileCalls INSTANCE = new SystemFileCalls(FfmPosix::instance);

    private final Supplier<Posix> libc;

    /** @param libc loaded at the first call, so that a plan can be made where libc cannot be called */
    SystemFileCalls(Supplier<Posix> libc) {
        this.libc = libc;
    }

    /** Returns the calls of libc, or those of java.nio where this process may not call libc. */
    static FileCalls ofProcess() {
        return new PosixDescriptors().isUsable() ? INSTANCE : new JavaFileCalls();
    }

    private Posix posix() {
        return libc.get();
    }

    @Override
    public SaveLock lock(Path folder, String name) {
        return LibcLock.take(posix(), folder, name);
    }

    @Override
    public void createFolder(Path folder, List<Path> made) {
        int result = posix().mkdir(folder.toString(), MODE_OF_FOLDERS);
        Path parent = folder.getParent();
        if (result == -Errno.ENOENT && parent != null) {
            createFolder(parent, made);
            result = posix().mkdir(folder.toString(), MODE_OF_FOLDERS);
        }
        if (result == 0) {
            made.add(folder);
        }
        if (result != -Errno.EEXIST || !Files.isDirectory(folder)) {
            check(folder, "create the folder", result);
        }
        // also for a folder that was there: what made it may have crashed before this
        if (parent != null && Files.isReadable(parent)) {
            sync(parent);
        }
    }

    @Override
    public byte[] read(Path file, int most) {
        // a pipe does not wait for its writer
        int fd = posix().open(file.toString(), PosixConstants.O_RDONLY | PosixConstants.O_NONBLOCK, 0);
        if (fd == -Errno.ENOENT || fd == -Errno.ENAMETOOLONG) {
            return new byte[0]; // the name of an index may be longer than that of the file
        }
        check(file, "open the file", fd);
        try (Arena arena = Arena.ofConfined()) {
            StatxResult status = posix().statx(fd);
            check(file, "read the size of the file", status.error());
            check(file, "read the file of " + status.size() + " bytes", status.size() > most ? -Errno.EFBIG : 0);
            MemorySegment bytes = arena.allocate(status.size());
            long done = 0;
            long count = -1;
            while (done < bytes.byteSize() && count != 0) {
                long at = done;
                count = check(file, "read the file", () -> posix().pread(fd, bytes, at, bytes.byteSize() - at, at));
                done += count;
            }
            return bytes.asSlice(0, done).toArray(ValueLayout.JAVA_BYTE);
        } finally {
            posix().close(fd);
        }
    }

    @Override
    public void write(Path file, byte[] content) {
        // a file or link that lies there, which others may have laid, is removed and not written to
        int removed = posix().unlink(file.toString());
        if (removed != -Errno.ENOENT) {
            check(file, "remove the old file", removed);
        }
        int flags = PosixConstants.O_WRONLY | PosixConstants.O_CREAT | PosixConstants.O_EXCL;
        int fd = (int) check(file, "create the file", posix().open(file.toString(), flags, MODE_OF_FILES));
        boolean forced = false;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment bytes = arena.allocateFrom(ValueLayout.JAVA_BYTE, content);
            for (long done = 0; done < content.length;) {
                long at = done;
                done += check(file, "write the file", () -> posix().pwrite(fd, bytes, at, content.length - at, at));
            }
            check(file, "force the file to the disk", posix().fsync(fd));
            forced = true;
        } finally {
            if (!forced) {
                posix().close(fd);
                posix().unlink(file.toString());
            }
        }
        check(file, "close the file", posix().close(fd));
    }

    @Override
    public Optional<StatxResult> status(Path file) {
        int fd = posix().open(file.toString(), PosixConstants.O_PATH | PosixConstants.O_NOFOLLOW, 0);
        if (fd < 0) {
            return found(file, StatxResult.failed(fd));
        }
        try {
            return found(file, posix().statx(fd));
        } finally {
            posix().close(fd);
        }
    }

    /** A failure is no answer: a disk that fails does not say that a file is missing. */
    private static Optional<StatxResult> found(Path file, StatxResult status) {
        if (status.error() == -Errno.ENOENT || status.error() == -Errno.ENOTDIR) {
            return Optional.empty();
        }
        check(file, "find out about the file", status.error());
        return Optional.of(status);
    }

    @Override
    public OptionalInt permissions(Path file) {
        return found(file, posix().statx(file.toString())).map(status -> OptionalInt.of(status.mode() & PERMISSIONS))
                .orElse(OptionalInt.empty());
    }

    @Override
    public void setPermissions(Path file, int permissions) {
        // by a descriptor: a link that took the name of the file would lead to another one
        int fd = (int) check(file, "find the file",
                posix().open(file.toString(), PosixConstants.O_PATH | PosixConstants.O_NOFOLLOW, 0));
        StatxResult status = posix().statx(fd);
        // nor may it be another name of a file of this user
        int result = status.links() > 1 ? -Errno.ESTALE : status.error();
        if (result == 0) {
            result = posix().chmod("/proc/self/fd/" + fd, permissions);
        }
        posix().close(fd);
        if (result == -Errno.ENOENT) {
            result = posix().chmod(file.toString(), permissions); // no /proc
        }
        if (!NO_PERMISSIONS.contains(-result)) {
            check(file, "set the permissions of the file", result);
        }
    }

    @Override
    public void rename(Path from, Path to) {
        check(to, "rename the new file to this name", posix().rename(from.toString(), to.toString()));
    }

    @Override
    public void link(Path existing, Path name) {
        check(name, "link the file", posix().link(existing.toString(), name.toString()));
    }

    @Override
    public void delete(Path file) {
        int result = posix().unlink(file.toString());
        if (result == -Errno.EISDIR) {
            result = posix().rmdir(file.toString());
        }
        if (result != -Errno.ENOENT) {
            check(file, "delete the file", result);
        }
    }

    @Override
    public void dropCached(Path file) {
        int fd = (int) check(file, "open the file",
                posix().open(file.toString(), PosixConstants.O_RDONLY | PosixConstants.O_NONBLOCK, 0));
        int result = posix().fdatasync(fd);
        posix().fadvise(fd, 0, 0, PosixConstants.POSIX_FADV_DONTNEED);
        posix().close(fd);
        if (!NOTHING_TO_FORCE.contains(-result)) {
            check(file, "force the file to the disk", result);
        }
    }

    @Override
    public void sync(Path folder) {
        // a pipe that took the name of the folder would wait for its writer
        int flags = PosixConstants.O_RDONLY | PosixConstants.O_NONBLOCK;
        int fd = (int) check(folder, "open the folder", posix().open(folder.toString(), flags, 0));
        int result = posix().fsync(fd);
        posix().close(fd);
        if (!NOTHING_TO_FORCE.contains(-result)) {
            check(folder, "force the folder to the disk", result);
        }
    }

    /** Repeats a call that a signal interrupts. */
    private static long check(Path path, String action, LongSupplier call) {
        long result = call.getAsLong();
        while (result == -Errno.EINTR) {
            result = call.getAsLong();
        }
        return check(path, action, result);
    }

    private static long check(Path path, String action, long result) {
        if (result < 0) {
            throw SaveFailure.of(path, action, (int) -result);
        }
        return result;
    }
}
