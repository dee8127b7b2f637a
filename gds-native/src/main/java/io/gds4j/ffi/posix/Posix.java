package io.gds4j.ffi.posix;

import io.gds4j.error.Errno;
import java.lang.foreign.MemorySegment;
import java.util.BitSet;

/**
 * The system calls that gds4j makes. Every method answers the call's result, or {@code -errno}: errno is read in the same
 * downcall, nothing is thrown, nothing allocated on the I/O calls. {@link PosixErrors} turns a negative answer into an
 * exception.
 *
 * <p>
 * EINTR is not retried here. Any thread may call.
 */
public interface Posix {
    /** {@code open(2)} with O_CLOEXEC added. */
    int open(String path, int flags, int mode);

    /** {@code close(2)}. */
    int close(int fd);

    /** {@code pread(2)} to a raw address that the caller keeps alive. */
    long pread(int fd, long address, long count, long offset);

    /**
     * {@code pread(2)} into {@code count} bytes of a native segment from {@code segmentOffset} on; its arena cannot close
     * during the call.
     *
     * @throws IllegalStateException if the arena is closed already
     */
    long pread(int fd, MemorySegment segment, long segmentOffset, long count, long offset);

    /** {@code pwrite(2)} from a raw address that the caller keeps alive. */
    long pwrite(int fd, long address, long count, long offset);

    /** {@code pwrite(2)} from a native segment, as {@link #pread(int, MemorySegment, long, long, long)}. */
    long pwrite(int fd, MemorySegment segment, long segmentOffset, long count, long offset);

    /** {@code preadv2(2)} with one vector. */
    long preadv2(int fd, long address, long count, long offset, int flags);

    /**
     * {@code cachestat(2)}: pages of the range that are in the page cache, dirty ones included. EPERM to those who neither own
     * nor may write the file, ENOSYS before Linux 6.5.
     */
    long cachedPages(int fd, long offset, long length);

    /** {@code statx(2)} of an open descriptor (AT_EMPTY_PATH), everything incl. STATX_DIOALIGN; never null: see {@link StatxResult#error}. */
    StatxResult statx(int fd);

    /** {@code statx(2)} of a path, following links. */
    StatxResult statx(String path);

    /** {@code fstatfs(2)}: the magic number of the file system, or {@code -errno}. */
    long fileSystemMagic(int fd);

    /** {@code fcntl(2)}. */
    int fcntl(int fd, int command, long argument);

    /** {@code posix_fadvise(2)}; unlike libc's it answers {@code -errno}. */
    int fadvise(int fd, long offset, long length, int advice);

    /** {@code mmap(2)}. */
    long mmap(long address, long length, int protection, int flags, int fd, long offset);

    /** {@code munmap(2)}. */
    int munmap(long address, long length);

    /** {@code madvise(2)}. */
    int madvise(long address, long length, int advice);

    /** {@code lseek(2)}: the new position. */
    default long lseek(int fd, long offset, int whence) {
        return -Errno.ENOSYS;
    }

    /** {@code ftruncate(2)}. */
    int ftruncate(int fd, long length);

    /** {@code fallocate(2)}. */
    int fallocate(int fd, int mode, long offset, long length);

    /** {@code fsync(2)}. */
    int fsync(int fd);

    /** {@code fdatasync(2)}. */
    int fdatasync(int fd);

    /** {@code memfd_create(2)} with MFD_CLOEXEC added. */
    int memfdCreate(String name, int flags);

    /** {@code ioctl(BLKGETSIZE64)}: bytes of a block device, or {@code -errno}. */
    long blockDeviceSize(int fd);

    /**
     * {@code io_uring_setup(2)}: a descriptor of rings. ENOSYS before Linux 5.1, EPERM where it is forbidden, as in many containers.
     *
     * @param parameters 120 bytes, {@code struct io_uring_params}, filled by the kernel
     */
    default int ioUringSetup(int entries, MemorySegment parameters) {
        return -Errno.ENOSYS;
    }

    /** {@code io_uring_enter(2)} without a signal mask: how many entries the kernel took. */
    default int ioUringEnter(int fd, int submit, int wait, int flags) {
        return -Errno.ENOSYS;
    }

    /**
     * {@code prctl(PR_GET_TIMERSLACK)}: by how many nanoseconds the kernel may prolong a sleep of the calling thread, 50,000 where
     * nobody chose.
     */
    default int timerSlack() {
        return -Errno.ENOSYS;
    }

    /** {@code prctl(PR_SET_TIMERSLACK)} of the calling thread. */
    default int setTimerSlack(int nanos) {
        return -Errno.ENOSYS;
    }

    /**
     * {@code sched_getaffinity(2)} of the calling thread.
     *
     * @param processors is set to the numbers of those that it may run on
     */
    default int affinity(BitSet processors) {
        return -Errno.ENOSYS;
    }

    /** {@code sched_setaffinity(2)} of the calling thread. */
    default int setAffinity(BitSet processors) {
        return -Errno.ENOSYS;
    }

    /** {@code setenv(3)}; not safe while other threads of the process call getenv. */
    int setenv(String name, String value, boolean overwrite);

    /** {@code isatty(3)}. */
    boolean isatty(int fd);

    /** {@code sysconf(_SC_PAGESIZE)}, bytes. */
    long pageSize();
}
