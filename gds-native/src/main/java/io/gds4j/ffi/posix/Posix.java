package io.gds4j.ffi.posix;

import io.gds4j.error.Errno;
import java.lang.foreign.MemorySegment;
import java.util.BitSet;

/**
 * The system calls that gds4j makes. Every method returns the call's result or {@code -errno}; the same downcall captures errno. No
 * method throws because a call failed, and I/O calls allocate nothing. {@link PosixErrors} turns a negative result into an exception.
 *
 * <p>
 * The caller retries EINTR. Any thread may call.
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
     * {@code cachestat(2)}: pages of the range that are in the page cache, including dirty ones. EPERM for a process that neither owns
     * nor may write the file, ENOSYS before Linux 6.5.
     */
    long cachedPages(int fd, long offset, long length);

    /** {@code statx(2)} of a descriptor (AT_EMPTY_PATH) with STATX_DIOALIGN; failures are in {@link StatxResult#error}. */
    StatxResult statx(int fd);

    /** {@code statx(2)} of a path, following links. */
    StatxResult statx(String path);

    /** {@code fstatfs(2)}: the magic number of the file system, or {@code -errno}. */
    long fileSystemMagic(int fd);

    /** {@code fcntl(2)}. */
    int fcntl(int fd, int command, long argument);

    /** {@code posix_fadvise(2)}; unlike libc's it returns {@code -errno}. */
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

    /** {@code rename(2)}. */
    default int rename(String from, String to) {
        return -Errno.ENOSYS;
    }

    /** {@code link(2)}. */
    default int link(String existing, String name) {
        return -Errno.ENOSYS;
    }

    /** {@code unlink(2)}. */
    default int unlink(String path) {
        return -Errno.ENOSYS;
    }

    /** {@code rmdir(2)}. */
    default int rmdir(String path) {
        return -Errno.ENOSYS;
    }

    /** {@code mkdir(2)}. */
    default int mkdir(String path, int mode) {
        return -Errno.ENOSYS;
    }

    /** {@code chmod(2)}. */
    default int chmod(String path, int mode) {
        return -Errno.ENOSYS;
    }

    /** {@code memfd_create(2)} with MFD_CLOEXEC added. */
    int memfdCreate(String name, int flags);

    /** {@code ioctl(BLKGETSIZE64)}: bytes of a block device, or {@code -errno}. */
    long blockDeviceSize(int fd);

    /**
     * {@code io_uring_setup(2)}: a descriptor of an io_uring. ENOSYS before Linux 5.1, EPERM if forbidden, as in many containers.
     *
     * @param parameters 120 bytes, {@code struct io_uring_params}, filled by the kernel
     */
    default int ioUringSetup(int entries, MemorySegment parameters) {
        return -Errno.ENOSYS;
    }

    /** {@code io_uring_enter(2)} without a signal mask: the number of entries that the kernel accepted. */
    default int ioUringEnter(int fd, int submit, int wait, int flags) {
        return -Errno.ENOSYS;
    }

    /**
     * {@code prctl(PR_GET_TIMERSLACK)}: nanoseconds by which the kernel may prolong a sleep of the calling thread; 50,000 by
     * default.
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
     * @param processors receives the processors that the thread may run on
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
