package io.gds4j.compat;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.ffi.posix.PosixErrors;
import io.gds4j.ffi.posix.StatxResult;
import io.gds4j.spi.FileSource;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * All private descriptors of a driver session. A pair outlives its handles: the kernel drops a process's POSIX locks on a
 * file when any descriptor of it is closed, and with them a {@code FileLock} that the program holds. Unused pairs beyond a
 * bound are closed only while the process holds no such lock on them.
 */
final class DescriptorTable {
    private static final String FUNCTION = "cuFileHandleRegister";
    private static final int MAX_UNUSED_PAIRS = 256;
    private static final int CREATE_MODE = 0666;
    private static final int MODE_BITS = 07777;

    private final Posix posix;
    private final Map<FilePair.Key, FilePair> pairs = new LinkedHashMap<>();
    private final Map<FileKey, RangeLocks> locks = new HashMap<>();
    private final List<FilePair> replaced = new ArrayList<>();

    DescriptorTable(Posix posix) {
        this.posix = posix;
    }

    /** The pair that serves a path, opened as asked; to be given back by {@link #release}. */
    synchronized FilePair open(FileSource.Named source) {
        int access = source.read() && source.write()
                ? PosixConstants.O_RDWR
                : source.write() ? PosixConstants.O_WRONLY : PosixConstants.O_RDONLY;
        int sync = source.sync() ? PosixConstants.O_SYNC : source.dsync() ? PosixConstants.O_DSYNC : 0;
        StatxResult status = posix.statx(source.path().toString());
        if (status.error() == 0) {
            checkType(status, Optional.of(source.path()));
            Optional<FilePair> existing = existing(source, status, access, sync);
            if (existing.isPresent()) {
                return existing.get();
            }
        }
        int flags = access | sync;
        flags |= source.create() || source.createNew() ? PosixConstants.O_CREAT : 0;
        flags |= source.createNew() ? PosixConstants.O_EXCL : 0;
        flags |= source.truncate() ? PosixConstants.O_TRUNC : 0;
        // Without O_NONBLOCK, opening a pipe would wait for its other end.
        int fd = openEvicting(source.path().toString(), flags | PosixConstants.O_NONBLOCK);
        if (fd < 0) {
            throw PosixErrors.failure(FUNCTION, "open", fd).path(source.path()).build();
        }
        return adopt(fd, access, sync, Optional.of(source.path()));
    }

    /**
     * A pair that is open already in this mode. Opening the file once more and closing it again would cost the process its
     * POSIX locks; a change of permissions since is the one reason to ask the kernel again.
     */
    private Optional<FilePair> existing(FileSource.Named source, StatxResult status, int access, int sync) {
        if (source.createNew()) {
            return Optional.empty();
        }
        FilePair pair = pairs.get(new FilePair.Key(FileKey.of(status), access, sync));
        if (pair == null || pair.mode() != (status.mode() & MODE_BITS)) {
            return Optional.empty();
        }
        if (source.truncate()) {
            PosixErrors.check(
                    FUNCTION, "ftruncate", posix.ftruncate(pair.bufferedDescriptor(), 0), Optional.of(source.path()));
        }
        pair.addUsers(1);
        return Optional.of(pair);
    }

    /** The pair that serves what a caller's descriptor is open on; to be given back by {@link #release}. */
    synchronized FilePair open(FileSource.Descriptor source, StatxResult status, int flags) {
        int access = flags & PosixConstants.O_ACCMODE;
        int sync = flags & PosixConstants.O_SYNC;
        FilePair pair = pairs.get(new FilePair.Key(FileKey.of(status), access, sync));
        if (pair != null) {
            pair.addUsers(1);
            return pair;
        }
        int fd = openEvicting("/proc/self/fd/" + source.fd(), access | sync);
        if (fd < 0) {
            // Permissions may have changed since the caller opened it: then share his open file.
            fd = posix.fcntl(source.fd(), PosixConstants.F_DUPFD_CLOEXEC, 0);
        }
        if (fd < 0) {
            throw PosixErrors.failure(FUNCTION, "opening the descriptor again", fd)
                    .error(CuFileError.GETNEWFD_FAILED)
                    .build();
        }
        return adopt(fd, access, sync, Optional.empty());
    }

    private int openEvicting(String path, int flags) {
        int fd = posix.open(path, flags, CREATE_MODE);
        if (fd == -Errno.EMFILE || fd == -Errno.ENFILE) {
            closeUnused(0);
            fd = posix.open(path, flags, CREATE_MODE);
        }
        return fd;
    }

    private FilePair adopt(int fd, int access, int sync, Optional<Path> path) {
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
        FilePair.Key key = new FilePair.Key(FileKey.of(status), access, sync);
        RangeLocks range = locks.computeIfAbsent(key.file(), file -> new RangeLocks(Math.max(4096, traits.alignment())));
        FilePair pair = new FilePair(posix, key, traits, fd, status.mode() & MODE_BITS, range);
        pair.addUsers(1);
        FilePair old = pairs.put(key, pair);
        if (old != null) {
            replaced.add(old);
        }
        return pair;
    }

    static void checkType(StatxResult status, Optional<Path> path) {
        if (!status.isRegularFile() && !status.isBlockDevice()) {
            throw CuFileException.builder(FUNCTION)
                    .error(CuFileError.INVALID_FILE_TYPE)
                    .path(path)
                    .detail(status.isDirectory() ? "is a directory" : "neither a regular file nor a block device")
                    .build();
        }
    }

    /** One handle fewer uses the pair; it stays open. */
    synchronized void release(FilePair pair) {
        pair.addUsers(-1);
        closeUnused(MAX_UNUSED_PAIRS);
    }

    private void closeUnused(int keep) {
        long unused = pairs.values().stream().filter(pair -> pair.users() == 0).count();
        if (unused <= keep) {
            return;
        }
        String table = processLocks();
        Iterator<FilePair> oldest = pairs.values().iterator();
        while (unused > keep / 2 && oldest.hasNext()) {
            FilePair pair = oldest.next();
            if (pair.users() == 0 && !isLocked(table, pair.key().file())) {
                oldest.remove();
                pair.close();
                unused--;
            }
        }
        locks.keySet().removeIf(file -> Stream.concat(pairs.values().stream(), replaced.stream())
                .noneMatch(pair -> pair.key().file().equals(file)));
    }

    private static String processLocks() {
        try {
            return Files.readString(Path.of("/proc/locks"));
        } catch (IOException e) {
            return "";
        }
    }

    /** By the inode alone: btrfs and overlay show programs another device than the kernel's table has. */
    private static boolean isLocked(String table, FileKey file) {
        return table.contains(":%d ".formatted(file.inode()));
    }

    /** Closes every descriptor. */
    synchronized void close() {
        pairs.values().forEach(FilePair::close);
        replaced.forEach(FilePair::close);
        pairs.clear();
        replaced.clear();
        locks.clear();
    }
}
