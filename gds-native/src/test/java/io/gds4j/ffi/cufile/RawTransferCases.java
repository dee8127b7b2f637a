package io.gds4j.ffi.cufile;

import io.gds4j.ffi.posix.PosixConstants;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Cases of reads and writes on a buffered or a direct handle, with registered and other memory. */
final class RawTransferCases {
    private static final long MIB = RawLibrary.MIB;
    private static final long GIB = 1L << 30;

    private final RawLibrary library;
    private final CuFileCalls calls;
    private final boolean direct;
    private final Path written;

    RawTransferCases(RawLibrary library, boolean direct) {
        this.library = library;
        this.calls = library.calls;
        this.direct = direct;
        this.written = library.path.resolveSibling(library.path.getFileName() + ".tmp");
    }

    void run() {
        library.driverOpen("open");
        long handle = library.register("register", direct ? library.direct : library.buffered);
        reads("unregistered: ", handle);
        library.bufRegister("register 1 MiB", library.device, MIB, 0);
        reads("registered: ", handle);
        calls.status(CuFileFunction.BUF_DEREGISTER, library.device);
        writes();
        library.driverClose("close");
        library.read("read after driver close", handle, library.device, 4096, 0, 0);
        if (!direct) {
            readLarge();
        }
    }

    /** Runs the first rows only. */
    void runShort() {
        library.driverOpen("open");
        long handle = library.register("register", library.buffered);
        library.read("size 0", handle, library.device, 0, 0, 0);
        library.read("null handle", 0, library.device, 4096, 0, 0);
        library.read("null buffer", handle, 0, 4096, 0, 0);
        library.read("garbage pointer", handle, 0x10, 4096, 0, 0);
        library.read("negative file offset", handle, library.device, 4096, -1, 0);
    }

    private void reads(String with, long handle) {
        long device = library.device;
        long end = RawLibrary.BYTES;
        library.read(with + "size 0", handle, device, 0, 0, 0);
        library.read(with + "null handle", 0, device, 4096, 0, 0);
        library.read(with + "null buffer", handle, 0, 4096, 0, 0);
        library.read(with + "garbage pointer", handle, 0x10, 4096, 0, 0);
        library.read(with + "negative file offset", handle, device, 4096, -1, 0);
        library.read(with + "negative buf offset", handle, device, 4096, 0, -4096);
        library.read(with + "at EOF", handle, device, 4096, end, 0);
        library.read(with + "past EOF", handle, device, 4096, 2 * end, 0);
        library.read(with + "across EOF aligned", handle, device, 8192, end - 4096, 0);
        library.read(with + "across EOF unaligned 10 bytes left", handle, device, 4096, end - 10, 0);
        library.read(with + "size>registered", handle, device, 2 * MIB, 0, 0);
        library.read(with + "buf offset beyond registered", handle, device, 4096, 0, 2 * MIB);
        library.read(with + "size>alloc", handle, device, 64 * MIB, 0, 0);
        library.read(with + "buf offset>alloc", handle, device, 4096, 0, 64 * MIB);
        library.read(with + "huge size", handle, device, 1L << 62, 0, 0);
        library.read(with + "huge offset", handle, device, 4096, 1L << 62, 0);
        library.read(with + "unaligned off 3 size 1000 buf 5", handle, device, 1000, 3, 5);
    }

    private void writes() {
        long device = library.device;
        int flags = PosixConstants.O_CREAT | PosixConstants.O_TRUNC | PosixConstants.O_RDWR;
        int fd = library.open(written, flags | (direct ? PosixConstants.O_DIRECT : 0));
        long handle = library.register("register tmp", fd);
        library.write("write 4096", handle, device, 4096, 0, 0);
        size("size after write 4096");
        library.write("write 1000 at 4096", handle, device, 1000, 4096, 0);
        size("size after write 1000 at 4096");
        library.write("write 10 at 100003", handle, device, 10, 100003, 7);
        size("size after write 10 at 100003");
        library.write("write 0 at 1<<20", handle, device, 0, MIB, 0);
        size("size after write 0 at 1<<20");
        library.write("write negative offset", handle, device, 4096, -4096, 0);
        RawLibrary.limitFilesOfThisProcess(MIB);
        library.write("write over RLIMIT_FSIZE", handle, device, 65536, 2 * MIB, 0);
        library.write("write across RLIMIT_FSIZE", handle, device, 65536, MIB - 4096, 0);
        RawLibrary.limitFilesOfThisProcess(-1);
        size("size after RLIMIT_FSIZE");
        library.posix.close(fd);
        library.write("write after user closed fd", handle, device, 4096, 0, 0);
        library.register("register reused fd number", reuse(fd));
        delete();
    }

    /** Gives another file the same descriptor number. */
    private int reuse(int fd) {
        int other = library.open(PosixConstants.O_RDONLY);
        int number = other == fd ? fd : library.posix.fcntl(other, PosixConstants.F_DUPFD_CLOEXEC, fd);
        if (number != fd) {
            throw new AssertionError("descriptor %d is taken: %d".formatted(fd, number));
        }
        return number;
    }

    private void readLarge() {
        long device = library.allocate(3 * GIB);
        calls.status(CuFileFunction.DRIVER_OPEN);
        int fd = library.open(written, PosixConstants.O_CREAT | PosixConstants.O_RDWR);
        library.posix.ftruncate(fd, 3 * GIB);
        library.read("read 3 GiB sparse", library.registerSilently(fd), device, 3 * GIB, 0, 0);
        delete();
    }

    private void size(String name) {
        try {
            library.row(name, Long.toString(Files.size(written)));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void delete() {
        try {
            Files.delete(written);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
