package io.gds4j.ffi.posix;

/** The calls of {@link Posix} into which {@link FaultyPosix} injects faults. */
public enum PosixCall {
    OPEN, CLOSE, PREAD, PWRITE, PREADV2, STATX, FSTATFS, FCNTL, FADVISE, MMAP, MUNMAP, MADVISE, FTRUNCATE, FALLOCATE,
    FSYNC,
    FDATASYNC, RENAME, LINK, UNLINK, RMDIR, MKDIR, CHMOD, MEMFD_CREATE, BLOCK_DEVICE_SIZE, SETENV, CACHED_PAGES,
    IO_URING_SETUP, IO_URING_ENTER, TIMER_SLACK, SET_TIMER_SLACK, AFFINITY, SET_AFFINITY;

    /** True for the three that move bytes. */
    public boolean isIo() {
        return this == PREAD || this == PWRITE || this == PREADV2;
    }
}
