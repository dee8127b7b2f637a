package io.gds4j.tools.io;

import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.ffi.posix.PosixErrors;
import io.gds4j.internal.file.Pages;
import io.gds4j.tools.terminal.CommandFailure;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Optional;

/** A file read and written without gds4j: by pread and pwrite, with O_DIRECT if requested and possible. */
final class PlainFile implements AutoCloseable {
    private static final int MODE = 0644;
    private static final int NONE = -1;
    private static final long PIECE = 4L << 20;

    private final Posix posix;
    private final Path path;
    private final int buffered;
    private final int direct;

    private PlainFile(Posix posix, Path path, int buffered, int direct) {
        this.posix = posix;
        this.path = path;
        this.buffered = buffered;
        this.direct = direct;
    }

    /** Opens a file. Uses the page cache if the file system refuses O_DIRECT. */
    static PlainFile open(Posix posix, Path path, boolean writable, boolean direct) {
        // a pipe does not wait for its writer
        int flags = PosixConstants.O_NONBLOCK
                | (writable ? PosixConstants.O_RDWR | PosixConstants.O_CREAT : PosixConstants.O_RDONLY);
        int buffered = (int) PosixErrors.check("open", "open", posix.open(path.toString(), flags, MODE),
                Optional.of(path));
        int past = NONE;
        if (direct) {
            past = posix.open(path.toString(), flags | PosixConstants.O_DIRECT, MODE);
            if (past < 0 && past != -Errno.EINVAL) {
                posix.close(buffered);
                throw PosixErrors.failure("open", "open", past).path(path).build();
            }
        }
        return new PlainFile(posix, path, buffered, Math.max(past, NONE));
    }

    /** Reads or writes all {@code size} bytes. The caller keeps the memory alive. */
    void move(boolean write, long address, long size, long offset) {
        int fd = direct != NONE && Pages.isAligned(address | size | offset) ? direct : buffered;
        long done = 0;
        while (done < size) {
            long count = Math.min(size - done, PosixConstants.MAX_RW_COUNT & -Pages.SIZE);
            long moved = write
                    ? posix.pwrite(fd, address + done, count, offset + done)
                    : posix.pread(fd, address + done, count, offset + done);
            if (moved == -Errno.EINTR) {
                continue;
            }
            if (moved < 0) {
                String call = write ? "pwrite" : "pread";
                throw PosixErrors.failure(call, call, moved).path(path).range(offset + done, count).build();
            }
            if (moved == 0) {
                throw CommandFailure.badInput(path.toString(), path + ": ends at byte " + (offset + done));
            }
            done += moved;
        }
    }

    /** Reads a range into the page cache, unless it is cached already. */
    void readOnce(long offset, long length) {
        long page = posix.pageSize();
        long pages = (offset + length - 1) / page - offset / page + 1;
        if (posix.cachedPages(buffered, offset, length) >= pages) {
            return;
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment buffer = arena.allocate(PIECE, Pages.SIZE);
            for (long done = 0; done < length; done += PIECE) {
                move(false, buffer.address(), Math.min(PIECE, length - done), offset + done);
            }
        }
    }

    /** Writes dirty pages back and drops all pages of the file from the page cache. */
    void dropPages() {
        dropPages(0, 0);
    }

    /** Does the same for a range; length 0 means to the end of the file. */
    void dropPages(long offset, long length) {
        PosixErrors.check("fdatasync", "fdatasync", posix.fdatasync(buffered), Optional.of(path));
        int dropped = posix.fadvise(buffered, offset, length, PosixConstants.POSIX_FADV_DONTNEED);
        PosixErrors.check("posix_fadvise", "posix_fadvise", dropped, Optional.of(path));
    }

    @Override
    public void close() {
        posix.close(buffered);
        if (direct != NONE) {
            posix.close(direct);
        }
    }
}
