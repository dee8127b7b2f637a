package io.gds4j.ffi.posix;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gds4j.error.Errno;
import io.gds4j.ffi.CString;
import io.gds4j.ffi.CallState;
import io.gds4j.ffi.Linkage;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.ref.Reference;
import java.util.BitSet;
import java.util.Objects;
import java.util.Optional;

/**
 * The system calls through libc. errno is captured in the downcall itself, into memory of the calling thread: the JVM may
 * make system calls of its own before Java code runs again.
 */
public final class FfmPosix implements Posix {
    private static final Linkage LIBC = Linkage.ofLibc();

    private static final MethodHandle OPEN = words("open");
    private static final MethodHandle CLOSE = words("close");
    private static final MethodHandle PREAD = words("pread");
    private static final MethodHandle PWRITE = words("pwrite");
    private static final MethodHandle PREADV2 = words("preadv2");
    private static final MethodHandle STATX = words("statx");
    private static final MethodHandle FSTATFS = words("fstatfs");
    private static final MethodHandle FCNTL = words("fcntl");
    private static final MethodHandle IOCTL = words("ioctl");
    private static final MethodHandle POSIX_FADVISE = words("posix_fadvise");
    private static final MethodHandle MMAP = words("mmap");
    private static final MethodHandle MUNMAP = words("munmap");
    private static final MethodHandle MADVISE = words("madvise");
    private static final MethodHandle FTRUNCATE = words("ftruncate");
    private static final MethodHandle FALLOCATE = words("fallocate");
    private static final MethodHandle FSYNC = words("fsync");
    private static final MethodHandle FDATASYNC = words("fdatasync");
    private static final MethodHandle RENAME = words("rename");
    private static final MethodHandle LINK = words("link");
    private static final MethodHandle UNLINK = words("unlink");
    private static final MethodHandle RMDIR = words("rmdir");
    private static final MethodHandle MKDIR = words("mkdir");
    private static final MethodHandle CHMOD = words("chmod");
    private static final MethodHandle MEMFD_CREATE = words("memfd_create");
    private static final MethodHandle SETENV = words("setenv");
    private static final MethodHandle LSEEK = words("lseek");
    private static final MethodHandle ISATTY = words("isatty");
    private static final MethodHandle SYSCONF = words("sysconf");
    private static final MethodHandle PRCTL = words("prctl");
    private static final MethodHandle SCHED_GETAFFINITY = words("sched_getaffinity");
    private static final MethodHandle SCHED_SETAFFINITY = words("sched_setaffinity");
    private static final MethodHandle SYSCALL = words("syscall");

    /** io_uring_enter has six parameters, so that syscall has seven; programs without io_uring do not link it. */
    private static final class Enter {
        static final MethodHandle SYSCALL = LIBC.function(
                "syscall", Linkage.WORDS.appendArgumentLayouts(JAVA_LONG), CallState.CAPTURE_ERRNO);
    }

    /** The segment follows the words: it holds its arena open during the call. A slice at the right address would be an object per call. */
    private static final class WithSegment {
        static final FunctionDescriptor TYPE =
                FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS);
        static final MethodHandle PREAD = LIBC.function("pread", TYPE, CallState.CAPTURE_ERRNO);
        static final MethodHandle PWRITE = LIBC.function("pwrite", TYPE, CallState.CAPTURE_ERRNO);
    }

    private static final int CALLING_THREAD = 0;
    private static final int PR_SET_TIMERSLACK = 29;
    private static final int PR_GET_TIMERSLACK = 30;

    // The same on every architecture.
    private static final long SYS_CACHESTAT = 451;
    private static final long SYS_IO_URING_SETUP = 425;
    private static final long SYS_IO_URING_ENTER = 426;

    private static final int AT_FDCWD = -100;
    private static final int AT_EMPTY_PATH = 0x1000;
    private static final int MFD_CLOEXEC = 1;
    private static final int SC_PAGESIZE = 30;
    private static final long BLKGETSIZE64 = 0x80081272L;
    private static final MemorySegment EMPTY_PATH = CString.ofFileName(Arena.global(), "");

    // After all handles: the linkage knows its failures only then.
    private static final Optional<String> PROBLEM = LIBC.problem();
    private static final FfmPosix INSTANCE = new FfmPosix();
    private static final String WITHOUT =
            "; without a driver, programs still open, list, map, decode, verify, convert and save checkpoints";

    private final long pageSize;

    private FfmPosix() {
        pageSize = PROBLEM.isPresent() ? 0 : word(SYSCONF, SC_PAGESIZE, 0, 0, 0, 0, 0);
    }

    /**
     * Returns libc of this process.
     *
     * @throws io.gds4j.error.CuFileException PLATFORM_NOT_SUPPORTED; the message names the function, option or platform that
     *         is missing
     */
    public static Posix instance() {
        if (PROBLEM.isPresent()) {
            throw Linkage.failure(problem().orElseThrow());
        }
        return INSTANCE;
    }

    /** Returns why {@link #instance} throws, and what works nevertheless; empty if it does not. */
    public static Optional<String> problem() {
        return PROBLEM.map(problem -> problem + WITHOUT);
    }

    @Override
    public int open(String path, int flags, int mode) {
        return named(OPEN, path, flags | PosixConstants.O_CLOEXEC, mode);
    }

    @Override
    public int close(int fd) {
        return number(CLOSE, fd, 0, 0);
    }

    @Override
    public long pread(int fd, long address, long count, long offset) {
        return word(PREAD, fd, address, count, offset, 0, 0);
    }

    @Override
    public long pread(int fd, MemorySegment segment, long segmentOffset, long count, long offset) {
        if (segment.isReadOnly()) {
            throw new UnsupportedOperationException("pread into a read-only segment");
        }
        CallState state = CallState.current();
        long address = address(segment, segmentOffset, count);
        try {
            return state.resultOrErrno(
                    (long) WithSegment.PREAD.invokeExact(state.errnoSlot(), (long) fd, address, count, offset,
                            segment));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public long pwrite(int fd, long address, long count, long offset) {
        return word(PWRITE, fd, address, count, offset, 0, 0);
    }

    @Override
    public long pwrite(int fd, MemorySegment segment, long segmentOffset, long count, long offset) {
        CallState state = CallState.current();
        long address = address(segment, segmentOffset, count);
        try {
            return state.resultOrErrno(
                    (long) WithSegment.PWRITE.invokeExact(state.errnoSlot(), (long) fd, address, count, offset,
                            segment));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public long preadv2(int fd, long address, long count, long offset, int flags) {
        MemorySegment vector = CallState.current().scratch();
        vector.set(JAVA_LONG, 0, address);
        vector.set(JAVA_LONG, Long.BYTES, count);
        return word(PREADV2, fd, vector.address(), 1, offset, flags, 0);
    }

    @Override
    public long cachedPages(int fd, long offset, long length) {
        MemorySegment range = CallState.current().scratch();
        range.set(JAVA_LONG, 0, offset);
        range.set(JAVA_LONG, Long.BYTES, length);
        MemorySegment counts = range.asSlice(2 * Long.BYTES);
        long result = word(SYSCALL, SYS_CACHESTAT, fd, range.address(), counts.address(), 0, 0);
        return result < 0 ? result : counts.get(JAVA_LONG, 0);
    }

    @Override
    public StatxResult statx(int fd) {
        return statx(fd, EMPTY_PATH, AT_EMPTY_PATH);
    }

    @Override
    public StatxResult statx(String path) {
        if (!CString.isRepresentable(path)) {
            return StatxResult.failed(-Errno.EINVAL);
        }
        try (Arena arena = Arena.ofConfined()) {
            return statx(AT_FDCWD, CString.ofFileName(arena, path), 0);
        }
    }

    private static StatxResult statx(int fd, MemorySegment path, int flags) {
        MemorySegment buffer = CallState.current().scratch();
        int result = number(STATX, fd, path.address(), flags, StatxBuffer.REQUESTED, buffer.address(), 0);
        return result < 0 ? StatxResult.failed(result) : StatxBuffer.read(buffer);
    }

    @Override
    public long fileSystemMagic(int fd) {
        MemorySegment buffer = CallState.current().scratch();
        int result = number(FSTATFS, fd, buffer.address(), 0);
        return result < 0 ? result : buffer.get(JAVA_LONG, 0); // f_type comes first
    }

    @Override
    public int fcntl(int fd, int command, long argument) {
        return number(FCNTL, fd, command, argument);
    }

    @Override
    public int fadvise(int fd, long offset, long length, int advice) {
        CallState state = CallState.current();
        try {
            // Returns the error number itself and does not set errno.
            return -(int) (long) POSIX_FADVISE.invokeExact(
                    state.errnoSlot(), (long) fd, offset, length, (long) advice, 0L, 0L);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public long mmap(long address, long length, int protection, int flags, int fd, long offset) {
        return word(MMAP, address, length, protection, flags, fd, offset); // MAP_FAILED is -1; no address of a process is negative
    }

    @Override
    public int munmap(long address, long length) {
        return number(MUNMAP, address, length, 0);
    }

    @Override
    public int madvise(long address, long length, int advice) {
        return number(MADVISE, address, length, advice);
    }

    @Override
    public int ftruncate(int fd, long length) {
        return number(FTRUNCATE, fd, length, 0);
    }

    @Override
    public int fallocate(int fd, int mode, long offset, long length) {
        return number(FALLOCATE, fd, mode, offset, length, 0, 0);
    }

    @Override
    public int fsync(int fd) {
        return number(FSYNC, fd, 0, 0);
    }

    @Override
    public int fdatasync(int fd) {
        return number(FDATASYNC, fd, 0, 0);
    }

    @Override
    public int rename(String from, String to) {
        return named(RENAME, from, to, 0);
    }

    @Override
    public int link(String existing, String name) {
        return named(LINK, existing, name, 0);
    }

    @Override
    public int unlink(String path) {
        return named(UNLINK, path, 0, 0);
    }

    @Override
    public int rmdir(String path) {
        return named(RMDIR, path, 0, 0);
    }

    @Override
    public int mkdir(String path, int mode) {
        return named(MKDIR, path, mode, 0);
    }

    @Override
    public int chmod(String path, int mode) {
        return named(CHMOD, path, mode, 0);
    }

    @Override
    public int memfdCreate(String name, int flags) {
        return named(MEMFD_CREATE, name, flags | MFD_CLOEXEC, 0);
    }

    @Override
    public long blockDeviceSize(int fd) {
        MemorySegment bytes = CallState.current().scratch();
        int result = number(IOCTL, fd, BLKGETSIZE64, bytes.address());
        return result < 0 ? result : bytes.get(JAVA_LONG, 0);
    }

    @Override
    public int ioUringSetup(int entries, MemorySegment parameters) {
        int result = (int) word(SYSCALL, SYS_IO_URING_SETUP, entries, parameters.address(), 0, 0, 0);
        Reference.reachabilityFence(parameters);
        return result;
    }

    @Override
    public int ioUringEnter(int fd, int submit, int wait, int flags) {
        CallState state = CallState.current();
        try {
            return (int) state.resultOrErrno(
                    (long) Enter.SYSCALL.invokeExact(
                            state.errnoSlot(), SYS_IO_URING_ENTER, (long) fd, (long) submit, (long) wait,
                            (long) flags, 0L, 0L));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public int timerSlack() {
        return number(PRCTL, PR_GET_TIMERSLACK, 0, 0);
    }

    @Override
    public int setTimerSlack(int nanos) {
        return number(PRCTL, PR_SET_TIMERSLACK, nanos, 0);
    }

    @Override
    public int affinity(BitSet processors) {
        MemorySegment mask = CallState.current().scratch();
        int result = number(SCHED_GETAFFINITY, CALLING_THREAD, mask.byteSize(), mask.address());
        if (result < 0) {
            return result;
        }
        processors.clear();
        processors.or(BitSet.valueOf(mask.toArray(JAVA_LONG)));
        return 0;
    }

    @Override
    public int setAffinity(BitSet processors) {
        if (processors.length() > CallState.SCRATCH_BYTES * Byte.SIZE) {
            return -Errno.EINVAL;
        }
        MemorySegment mask = CallState.current().scratch().fill((byte) 0);
        MemorySegment wanted = MemorySegment.ofArray(processors.toLongArray());
        MemorySegment.copy(wanted, 0, mask, 0, wanted.byteSize());
        return number(SCHED_SETAFFINITY, CALLING_THREAD, mask.byteSize(), mask.address());
    }

    @Override
    public int setenv(String name, String value, boolean overwrite) {
        return named(SETENV, name, value, overwrite ? 1 : 0);
    }

    @Override
    public long lseek(int fd, long offset, int whence) {
        return word(LSEEK, fd, offset, whence, 0, 0, 0);
    }

    @Override
    public boolean isatty(int fd) {
        return number(ISATTY, fd, 0, 0) == 1;
    }

    @Override
    public long pageSize() {
        return pageSize;
    }

    /** Calls a function whose first parameter is a name. */
    private static int named(MethodHandle function, String name, int second, int third) {
        if (!CString.isRepresentable(name)) {
            return -Errno.EINVAL;
        }
        try (Arena arena = Arena.ofConfined()) {
            return number(function, CString.ofFileName(arena, name).address(), second, third);
        }
    }

    private static int named(MethodHandle function, String name, String second, int third) {
        if (!CString.isRepresentable(name) || !CString.isRepresentable(second)) {
            return -Errno.EINVAL;
        }
        try (Arena arena = Arena.ofConfined()) {
            long text = CString.ofFileName(arena, second).address();
            return number(function, CString.ofFileName(arena, name).address(), text, third);
        }
    }

    private static int number(MethodHandle function, long a, long b, long c) {
        return number(function, a, b, c, 0, 0, 0);
    }

    /** Calls a function that returns an int; returns {@code -errno} if it is negative. */
    private static int number(MethodHandle function, long a, long b, long c, long d, long e, long f) {
        CallState state = CallState.current();
        try {
            return state.resultOrErrno((int) (long) function.invokeExact(state.errnoSlot(), a, b, c, d, e, f));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    /** Calls a function that returns a long; returns {@code -errno} if it is negative. */
    private static long word(MethodHandle function, long a, long b, long c, long d, long e, long f) {
        CallState state = CallState.current();
        try {
            return state.resultOrErrno((long) function.invokeExact(state.errnoSlot(), a, b, c, d, e, f));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    private static long address(MemorySegment segment, long offset, long count) {
        Objects.checkFromIndexSize(offset, count, segment.byteSize());
        return segment.address() + offset;
    }

    private static MethodHandle words(String name) {
        return LIBC.function(name, Linkage.WORDS, CallState.CAPTURE_ERRNO);
    }
}
