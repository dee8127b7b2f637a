package io.gds4j.ffi.cufile;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gds4j.error.Errno;
import io.gds4j.ffi.CallState;
import io.gds4j.ffi.DynamicLoader;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaDriver;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;

/**
 * libcufile without preconditions, as a C program uses it, and what such a program needs: a GPU's primary context, 8 MiB of its
 * memory, and a file of 8 MiB, open with and without O_DIRECT. Each answer becomes a row on standard output: the case and the
 * library's answer, separated by tabs.
 */
public final class RawLibrary {
    public static final long MIB = 1L << 20;
    public static final int BYTES = (int) (8 * MIB);
    private static final int FIRST_CODE = 5000;
    private static final int RLIMIT_FSIZE = 1;

    final CuFileCalls calls;
    final Cuda cuda;
    final Posix posix = FfmPosix.instance();
    final Arena arena = Arena.global();
    final Path path;
    final long device;
    final int buffered;
    final int direct;

    private RawLibrary(CuFileCalls calls, Cuda cuda, Path path) {
        this.calls = calls;
        this.cuda = cuda;
        this.path = path;
        long[] context = new long[1];
        succeed(cuda.devicePrimaryCtxRetain(context, 0));
        succeed(cuda.ctxSetCurrent(context[0]));
        this.device = allocate(BYTES);
        succeed(cuda.memsetD8Async(device, (byte) 0xab, BYTES, 0));
        succeed(cuda.streamSynchronize(0));
        this.buffered = open(PosixConstants.O_RDWR);
        this.direct = open(PosixConstants.O_RDWR | PosixConstants.O_DIRECT);
    }

    /** The version that the library reports. */
    CuFileVersion version() {
        MemorySegment out = arena.allocate(JAVA_INT);
        calls.status(CuFileFunction.GET_VERSION, out.address());
        return new CuFileVersion(out.get(JAVA_INT, 0));
    }

    /** The library of this machine. */
    static RawLibrary ofThisMachine(Path file) {
        if (!(LibCuFile.locate() instanceof LibCuFile.Found found)
                || !(LibCuFile.load(found) instanceof DynamicLoader.Loaded loaded)) {
            throw new AssertionError("no libcufile: " + LibCuFile.locate());
        }
        if (!(CudaDriver.detect() instanceof CudaAvailability.Available gpu)) {
            throw new AssertionError("no GPU: " + CudaDriver.detect());
        }
        return new RawLibrary(new CuFileCalls(loaded.symbols()), gpu.driver(), file);
    }

    public static void succeed(int result) {
        if (result != 0) {
            throw new AssertionError("CUDA error " + result);
        }
    }

    long allocate(long bytes) {
        long[] pointer = new long[1];
        succeed(cuda.memAlloc(pointer, bytes));
        return pointer[0];
    }

    long stream() {
        long[] stream = new long[1];
        succeed(cuda.streamCreate(stream, Cuda.STREAM_NON_BLOCKING));
        return stream[0];
    }

    int open(int flags) {
        return open(path, flags);
    }

    int open(Path file, int flags) {
        int fd = posix.open(file.toString(), flags, 0644);
        if (fd < 0) {
            throw new AssertionError("open " + file + ": " + Errno.name(-fd));
        }
        return fd;
    }

    // ---- rows

    void row(String name, String answer) {
        System.out.println("row\t" + name + "\t" + answer);
        System.out.flush();
    }

    /** A {@code CUfileError_t}, and the library's count of users after it. */
    int status(String name, long status) {
        int error = CuFileResults.error(status);
        // With any other code it holds an old value of the register.
        int cudaResult = error == 5011 ? CuFileResults.cudaResult(status) : 0;
        row(name, "%d/%d use %d".formatted(error, cudaResult, calls.useCount()));
        return error;
    }

    void transferred(String name, long result) {
        row(name, result == -1 ? "-1 errno " + errno(CallState.current().errno()) : Long.toString(result));
    }

    private static String errno(int errno) {
        return errno >= FIRST_CODE || errno == 0 ? Integer.toString(errno) : Errno.name(errno);
    }

    // ---- calls that many cases make

    void driverOpen(String name) {
        status(name, calls.status(CuFileFunction.DRIVER_OPEN));
    }

    void driverClose(String name) {
        status(name, calls.status(CuFileFunction.DRIVER_CLOSE));
    }

    MemorySegment descriptor(int type, int fd) {
        MemorySegment descriptor = arena.allocate(FileDescr.LAYOUT);
        FileDescr.write(descriptor, type, fd);
        return descriptor;
    }

    /** Registers a descriptor; the handle, or 0. */
    long register(String name, int fd) {
        MemorySegment handle = arena.allocate(JAVA_LONG);
        status(name,
                calls.status(CuFileFunction.HANDLE_REGISTER, handle.address(),
                        descriptor(FileDescr.OPAQUE_FD, fd).address()));
        return handle.get(JAVA_LONG, 0);
    }

    long registerSilently(int fd) {
        MemorySegment handle = arena.allocate(JAVA_LONG);
        calls.status(CuFileFunction.HANDLE_REGISTER, handle.address(), descriptor(FileDescr.OPAQUE_FD, fd).address());
        return handle.get(JAVA_LONG, 0);
    }

    void bufRegister(String name, long base, long length, int flags) {
        status(name, calls.status(CuFileFunction.BUF_REGISTER, base, length, flags));
    }

    void bufDeregister(String name, long base) {
        status(name, calls.status(CuFileFunction.BUF_DEREGISTER, base));
    }

    void read(String name, long handle, long base, long size, long fileOffset, long bufferOffset) {
        transferred(name,
                CuFileCalls.transfer(calls.entry(CuFileFunction.READ), handle, base, size, fileOffset, bufferOffset));
    }

    void write(String name, long handle, long base, long size, long fileOffset, long bufferOffset) {
        transferred(name,
                CuFileCalls.transfer(calls.entry(CuFileFunction.WRITE), handle, base, size, fileOffset, bufferOffset));
    }

    MemorySegment cell(long value) {
        MemorySegment cell = arena.allocate(JAVA_LONG);
        cell.set(JAVA_LONG, 0, value);
        return cell;
    }

    MemorySegment count(int value) {
        MemorySegment cell = arena.allocate(JAVA_INT);
        cell.set(JAVA_INT, 0, value);
        return cell;
    }

    /** Bytes that no file of this process may grow past; -1 for no limit. */
    public static void limitFilesOfThisProcess(long bytes) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment limit = arena.allocateFrom(JAVA_LONG, bytes, -1);
            int result = (int) Linker.nativeLinker()
                    .downcallHandle(
                            Linker.nativeLinker().defaultLookup().findOrThrow("setrlimit"),
                            FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS))
                    .invokeExact(RLIMIT_FSIZE, limit);
            succeed(result);
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }
}
