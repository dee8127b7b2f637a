package io.gds4j.ffi.posix;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gds4j.error.Errno;
import io.gds4j.ffi.CString;
import io.gds4j.ffi.CallState;
import io.gds4j.ffi.Linkage;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.BitSet;
import java.util.Objects;
import java.util.Optional;

/**
 * The system calls through libc. errno is captured in the downcall itself, into memory of the calling thread: the JVM may
 * make system calls of its own before Java code runs again.
 */
public final class FfmPosix implements Posix {
    private static final Linkage LIBC = Linkage.ofLibc();

    private static final MethodHandle OPEN = variadic("open", 2, JAVA_INT, ADDRESS, JAVA_INT, JAVA_INT);
    private static final MethodHandle CLOSE = call("close", JAVA_INT, JAVA_INT);
    private static final MethodHandle PREAD = call("pread", JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    // The segment follows the real arguments, in a register that the callee ignores. It holds its arena open during the call: a
    // slice at the right address would be an object per call.
    private static final MethodHandle PREAD_SEGMENT =
            call("pread", JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS);
    private static final MethodHandle PWRITE = call("pwrite", JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle PWRITE_SEGMENT =
            call("pwrite", JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS);
    private static final MethodHandle PREADV2 =
            call("preadv2", JAVA_LONG, JAVA_INT, ADDRESS, JAVA_INT, JAVA_LONG, JAVA_INT);
    private static final MethodHandle STATX = call("statx", JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT, JAVA_INT, ADDRESS);
    private static final MethodHandle FSTATFS = call("fstatfs", JAVA_INT, JAVA_INT, ADDRESS);
    private static final MethodHandle FCNTL = variadic("fcntl", 2, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG);
    private static final MethodHandle IOCTL = variadic("ioctl", 2, JAVA_INT, JAVA_INT, JAVA_LONG, ADDRESS);
    private static final MethodHandle POSIX_FADVISE =
            call("posix_fadvise", JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT);
    private static final MethodHandle MMAP =
            call("mmap", JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG);
    private static final MethodHandle MUNMAP = call("munmap", JAVA_INT, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle MADVISE = call("madvise", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT);
    private static final MethodHandle FTRUNCATE = call("ftruncate", JAVA_INT, JAVA_INT, JAVA_LONG);
    private static final MethodHandle FALLOCATE =
            call("fallocate", JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle FSYNC = call("fsync", JAVA_INT, JAVA_INT);
    private static final MethodHandle FDATASYNC = call("fdatasync", JAVA_INT, JAVA_INT);
    private static final MethodHandle RENAME = call("rename", JAVA_INT, ADDRESS, ADDRESS);
    private static final MethodHandle LINK = call("link", JAVA_INT, ADDRESS, ADDRESS);
    private static final MethodHandle UNLINK = call("unlink", JAVA_INT, ADDRESS);
    private static final MethodHandle RMDIR = call("rmdir", JAVA_INT, ADDRESS);
    private static final MethodHandle MKDIR = call("mkdir", JAVA_INT, ADDRESS, JAVA_INT);
    private static final MethodHandle CHMOD = call("chmod", JAVA_INT, ADDRESS, JAVA_INT);
    private static final MethodHandle MEMFD_CREATE = call("memfd_create", JAVA_INT, ADDRESS, JAVA_INT);
    private static final MethodHandle SETENV = call("setenv", JAVA_INT, ADDRESS, ADDRESS, JAVA_INT);
    private static final MethodHandle LSEEK = call("lseek", JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_INT);
    private static final MethodHandle ISATTY = call("isatty", JAVA_INT, JAVA_INT);
    private static final MethodHandle SYSCONF = call("sysconf", JAVA_LONG, JAVA_INT);

    private static final MethodHandle PRCTL = variadic("prctl", 1, JAVA_INT, JAVA_INT, JAVA_LONG);

    private static final MethodHandle SCHED_GETAFFINITY =
            call("sched_getaffinity", JAVA_INT, JAVA_INT, JAVA_LONG, ADDRESS);
    private static final MethodHandle SCHED_SETAFFINITY =
            call("sched_setaffinity", JAVA_INT, JAVA_INT, JAVA_LONG, ADDRESS);

    private static final MethodHandle CACHESTAT =
            variadic("syscall", 1, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS, JAVA_LONG);

    private static final MethodHandle IO_URING_SETUP =
            variadic("syscall", 1, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS);
    private static final MethodHandle IO_URING_ENTER = variadic(
            "syscall", 1, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);

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

    private final long pageSize;

    private FfmPosix() {
        pageSize = PROBLEM.isPresent() ? 0 : sysconf(SC_PAGESIZE);
    }

    /**
     * Returns libc of this process.
     *
     * @throws io.gds4j.error.CuFileException PLATFORM_NOT_SUPPORTED; the message names the function, option or platform that
     *         is missing
     */
    public static Posix instance() {
        if (PROBLEM.isPresent()) {
            throw Linkage.failure(PROBLEM.get());
        }
        return INSTANCE;
    }

    @Override
    public int open(String path, int flags, int mode) {
        if (!CString.isRepresentable(path)) {
            return -Errno.EINVAL;
        }
        CallState state = CallState.current();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment name = CString.ofFileName(arena, path);
            int closeOnExec = flags | PosixConstants.O_CLOEXEC;
            return state.resultOrErrno((int) OPEN.invokeExact(state.errnoSlot(), name, closeOnExec, mode));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public int close(int fd) {
        return intCall(CLOSE, fd);
    }

    @Override
    public long pread(int fd, long address, long count, long offset) {
        CallState state = CallState.current();
        try {
            return state.resultOrErrno((long) PREAD.invokeExact(state.errnoSlot(), fd, address, count, offset));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
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
                    (long) PREAD_SEGMENT.invokeExact(state.errnoSlot(), fd, address, count, offset, segment));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public long pwrite(int fd, long address, long count, long offset) {
        CallState state = CallState.current();
        try {
            return state.resultOrErrno((long) PWRITE.invokeExact(state.errnoSlot(), fd, address, count, offset));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public long pwrite(int fd, MemorySegment segment, long segmentOffset, long count, long offset) {
        CallState state = CallState.current();
        long address = address(segment, segmentOffset, count);
        try {
            return state.resultOrErrno(
                    (long) PWRITE_SEGMENT.invokeExact(state.errnoSlot(), fd, address, count, offset, segment));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public long preadv2(int fd, long address, long count, long offset, int flags) {
        CallState state = CallState.current();
        MemorySegment vector = state.scratch();
        vector.set(JAVA_LONG, 0, address);
        vector.set(JAVA_LONG, Long.BYTES, count);
        try {
            return state.resultOrErrno((long) PREADV2.invokeExact(state.errnoSlot(), fd, vector, 1, offset, flags));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public long cachedPages(int fd, long offset, long length) {
        CallState state = CallState.current();
        MemorySegment range = state.scratch();
        range.set(JAVA_LONG, 0, offset);
        range.set(JAVA_LONG, Long.BYTES, length);
        MemorySegment counts = range.asSlice(2 * Long.BYTES);
        try {
            long result = (long) CACHESTAT.invokeExact(
                    state.errnoSlot(), SYS_CACHESTAT, (long) fd, range, counts, 0L);
            return result < 0 ? state.resultOrErrno(result) : counts.get(JAVA_LONG, 0);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
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
        CallState state = CallState.current();
        MemorySegment buffer = state.scratch();
        try {
            int result =
                    (int) STATX.invokeExact(state.errnoSlot(), fd, path, flags, StatxBuffer.REQUESTED, buffer);
            return result < 0 ? StatxResult.failed(-state.errno()) : StatxBuffer.read(buffer);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public long fileSystemMagic(int fd) {
        CallState state = CallState.current();
        MemorySegment buffer = state.scratch();
        try {
            int result = (int) FSTATFS.invokeExact(state.errnoSlot(), fd, buffer);
            return result < 0 ? -state.errno() : buffer.get(JAVA_LONG, 0); // f_type comes first
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public int fcntl(int fd, int command, long argument) {
        CallState state = CallState.current();
        try {
            return state.resultOrErrno((int) FCNTL.invokeExact(state.errnoSlot(), fd, command, argument));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public int fadvise(int fd, long offset, long length, int advice) {
        CallState state = CallState.current();
        try {
            // Returns the error number itself and does not set errno.
            return -(int) POSIX_FADVISE.invokeExact(state.errnoSlot(), fd, offset, length, advice);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public long mmap(long address, long length, int protection, int flags, int fd, long offset) {
        CallState state = CallState.current();
        try {
            // MAP_FAILED is -1, and no address of a process is negative.
            return state.resultOrErrno(
                    (long) MMAP.invokeExact(state.errnoSlot(), address, length, protection, flags, fd, offset));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public int munmap(long address, long length) {
        CallState state = CallState.current();
        try {
            return state.resultOrErrno((int) MUNMAP.invokeExact(state.errnoSlot(), address, length));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public int madvise(long address, long length, int advice) {
        CallState state = CallState.current();
        try {
            return state.resultOrErrno((int) MADVISE.invokeExact(state.errnoSlot(), address, length, advice));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public int ftruncate(int fd, long length) {
        CallState state = CallState.current();
        try {
            return state.resultOrErrno((int) FTRUNCATE.invokeExact(state.errnoSlot(), fd, length));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public int fallocate(int fd, int mode, long offset, long length) {
        CallState state = CallState.current();
        try {
            return state.resultOrErrno((int) FALLOCATE.invokeExact(state.errnoSlot(), fd, mode, offset, length));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public int fsync(int fd) {
        return intCall(FSYNC, fd);
    }

    @Override
    public int fdatasync(int fd) {
        return intCall(FDATASYNC, fd);
    }

    @Override
    public int rename(String from, String to) {
        return ofNames(RENAME, from, to);
    }

    @Override
    public int link(String existing, String name) {
        return ofNames(LINK, existing, name);
    }

    @Override
    public int unlink(String path) {
        return ofName(UNLINK, path);
    }

    @Override
    public int rmdir(String path) {
        return ofName(RMDIR, path);
    }

    @Override
    public int mkdir(String path, int mode) {
        return withMode(MKDIR, path, mode);
    }

    @Override
    public int chmod(String path, int mode) {
        return withMode(CHMOD, path, mode);
    }

    @Override
    public int memfdCreate(String name, int flags) {
        if (!CString.isRepresentable(name)) {
            return -Errno.EINVAL;
        }
        CallState state = CallState.current();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = CString.ofFileName(arena, name);
            return state.resultOrErrno((int) MEMFD_CREATE.invokeExact(state.errnoSlot(), text, flags | MFD_CLOEXEC));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public long blockDeviceSize(int fd) {
        CallState state = CallState.current();
        MemorySegment bytes = state.scratch();
        try {
            int result = (int) IOCTL.invokeExact(state.errnoSlot(), fd, BLKGETSIZE64, bytes);
            return result < 0 ? -state.errno() : bytes.get(JAVA_LONG, 0);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public int ioUringSetup(int entries, MemorySegment parameters) {
        CallState state = CallState.current();
        try {
            return (int) state.resultOrErrno(
                    (long) IO_URING_SETUP.invokeExact(
                            state.errnoSlot(), SYS_IO_URING_SETUP, (long) entries, parameters));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public int ioUringEnter(int fd, int submit, int wait, int flags) {
        CallState state = CallState.current();
        try {
            return (int) state.resultOrErrno(
                    (long) IO_URING_ENTER.invokeExact(
                            state.errnoSlot(), SYS_IO_URING_ENTER, (long) fd, (long) submit, (long) wait,
                            (long) flags, 0L, 0L));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public int timerSlack() {
        return prctl(PR_GET_TIMERSLACK, 0);
    }

    @Override
    public int setTimerSlack(int nanos) {
        return prctl(PR_SET_TIMERSLACK, nanos);
    }

    @Override
    public int affinity(BitSet processors) {
        CallState state = CallState.current();
        try {
            int result = (int) SCHED_GETAFFINITY.invokeExact(
                    state.errnoSlot(), CALLING_THREAD, CallState.SCRATCH_BYTES, state.scratch());
            if (result < 0) {
                return state.resultOrErrno(result);
            }
            processors.clear();
            processors.or(BitSet.valueOf(state.scratch().toArray(JAVA_LONG)));
            return 0;
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public int setAffinity(BitSet processors) {
        if (processors.length() > CallState.SCRATCH_BYTES * Byte.SIZE) {
            return -Errno.EINVAL;
        }
        CallState state = CallState.current();
        MemorySegment mask = state.scratch().fill((byte) 0);
        MemorySegment wanted = MemorySegment.ofArray(processors.toLongArray());
        MemorySegment.copy(wanted, 0, mask, 0, wanted.byteSize());
        try {
            return state.resultOrErrno((int) SCHED_SETAFFINITY.invokeExact(
                    state.errnoSlot(), CALLING_THREAD, CallState.SCRATCH_BYTES, mask));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    private static int prctl(int option, long argument) {
        CallState state = CallState.current();
        try {
            return state.resultOrErrno((int) PRCTL.invokeExact(state.errnoSlot(), option, argument));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public int setenv(String name, String value, boolean overwrite) {
        if (!CString.isRepresentable(name) || !CString.isRepresentable(value)) {
            return -Errno.EINVAL;
        }
        CallState state = CallState.current();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment key = CString.ofFileName(arena, name);
            MemorySegment text = CString.ofFileName(arena, value);
            return state.resultOrErrno((int) SETENV.invokeExact(state.errnoSlot(), key, text, overwrite ? 1 : 0));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public long lseek(int fd, long offset, int whence) {
        CallState state = CallState.current();
        try {
            return state.resultOrErrno((long) LSEEK.invokeExact(state.errnoSlot(), fd, offset, whence));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public boolean isatty(int fd) {
        return intCall(ISATTY, fd) == 1;
    }

    @Override
    public long pageSize() {
        return pageSize;
    }

    private static long sysconf(int name) {
        CallState state = CallState.current();
        try {
            return (long) SYSCONF.invokeExact(state.errnoSlot(), name);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    private static int ofName(MethodHandle function, String path) {
        if (!CString.isRepresentable(path)) {
            return -Errno.EINVAL;
        }
        CallState state = CallState.current();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment name = CString.ofFileName(arena, path);
            return state.resultOrErrno((int) function.invokeExact(state.errnoSlot(), name));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    private static int ofNames(MethodHandle function, String first, String second) {
        if (!CString.isRepresentable(first) || !CString.isRepresentable(second)) {
            return -Errno.EINVAL;
        }
        CallState state = CallState.current();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment one = CString.ofFileName(arena, first);
            MemorySegment other = CString.ofFileName(arena, second);
            return state.resultOrErrno((int) function.invokeExact(state.errnoSlot(), one, other));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    private static int withMode(MethodHandle function, String path, int mode) {
        if (!CString.isRepresentable(path)) {
            return -Errno.EINVAL;
        }
        CallState state = CallState.current();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment name = CString.ofFileName(arena, path);
            return state.resultOrErrno((int) function.invokeExact(state.errnoSlot(), name, mode));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    private static int intCall(MethodHandle function, int fd) {
        CallState state = CallState.current();
        try {
            return state.resultOrErrno((int) function.invokeExact(state.errnoSlot(), fd));
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    private static long address(MemorySegment segment, long offset, long count) {
        Objects.checkFromIndexSize(offset, count, segment.byteSize());
        return segment.address() + offset;
    }

    private static MethodHandle call(String name, MemoryLayout result, MemoryLayout... parameters) {
        return LIBC.function(name, FunctionDescriptor.of(result, parameters), CallState.CAPTURE_ERRNO);
    }

    private static MethodHandle variadic(String name, int fixed, MemoryLayout result, MemoryLayout... parameters) {
        return LIBC.function(
                name,
                FunctionDescriptor.of(result, parameters),
                CallState.CAPTURE_ERRNO,
                Linker.Option.firstVariadicArg(fixed));
    }
}
