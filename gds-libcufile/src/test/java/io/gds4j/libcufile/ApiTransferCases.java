package io.gds4j.libcufile;

import io.gds4j.CuFileBuffer;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.ffi.cufile.RawLibrary;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.memory.IoMemory;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;

/** Cases of reads and writes, by the public API. */
final class ApiTransferCases {
    private static final long MIB = RawLibrary.MIB;

    private final ApiAnswers answers;
    private final boolean direct;
    private final Path written;
    private final Posix posix = FfmPosix.instance();

    ApiTransferCases(ApiAnswers answers, boolean direct) {
        this.answers = answers;
        this.direct = direct;
        this.written = answers.file().resolveSibling("written");
    }

    void run() throws IOException {
        CuFileDriver driver = answers.open();
        answers.row("open", "ok");
        MemoryAllocation memory = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, RawLibrary.BYTES);
        CuFileHandle handle = driver.openFile(answers.file(), options(StandardOpenOption.READ));
        answers.row("register", "ok");
        reads("unregistered: ", handle, memory.range());
        try (CuFileBuffer buffer = driver.registerBuffer(memory.range().slice(0, MIB))) {
            answers.row("register 1 MiB", "ok");
            reads("registered: ", handle, buffer);
        }
        writes(driver, memory.range());
        answers.does("close", driver::close);
        answers.asks("read after driver close", () -> handle.read(memory.range(), 4096, 0, 0));
        memory.close();
    }

    /** Runs the first rows only, with the configuration of the environment. */
    void runShort() {
        CuFileDriver driver = answers.configured();
        answers.row("open", "ok");
        CuFileHandle handle = driver.openFile(answers.file());
        answers.row("register", "ok");
        try (MemoryAllocation memory = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, RawLibrary.BYTES)) {
            MemoryRange garbage = MemoryRange.ofAddress(0x10, 4096, MemoryKind.CUDA_DEVICE);
            answers.asks("size 0", () -> handle.read(memory.range(), 0, 0, 0));
            answers.asks("null buffer", () -> handle.read(null, 4096, 0, 0));
            answers.asks("garbage pointer", () -> handle.read(garbage, 4096, 0, 0));
            answers.asks("negative file offset", () -> handle.read(memory.range(), 4096, -1, 0));
        }
        driver.close();
    }

    private OpenOption[] options(OpenOption... more) {
        List<OpenOption> all = new ArrayList<>(List.of(more));
        if (direct) {
            all.add(CuFileOpenOption.DIRECT);
        }
        return all.toArray(OpenOption[]::new);
    }

    private void reads(String with, CuFileHandle handle, IoMemory memory) {
        long end = RawLibrary.BYTES;
        MemoryRange garbage = MemoryRange.ofAddress(0x10, 4096, MemoryKind.CUDA_DEVICE);
        answers.asks(with + "size 0", () -> handle.read(memory, 0, 0, 0));
        answers.asks(with + "null buffer", () -> handle.read(null, 4096, 0, 0));
        answers.asks(with + "garbage pointer", () -> handle.read(garbage, 4096, 0, 0));
        answers.asks(with + "negative file offset", () -> handle.read(memory, 4096, -1, 0));
        answers.asks(with + "negative buf offset", () -> handle.read(memory, 4096, 0, -4096));
        answers.asks(with + "at EOF", () -> handle.read(memory, 4096, end, 0));
        answers.asks(with + "past EOF", () -> handle.read(memory, 4096, 2 * end, 0));
        answers.asks(with + "across EOF aligned", () -> handle.read(memory, 8192, end - 4096, 0));
        answers.asks(with + "across EOF unaligned 10 bytes left", () -> handle.read(memory, 4096, end - 10, 0));
        answers.asks(with + "size>registered", () -> handle.read(memory, 2 * MIB, 0, 0));
        answers.asks(with + "buf offset beyond registered", () -> handle.read(memory, 4096, 0, 2 * MIB));
        answers.asks(with + "size>alloc", () -> handle.read(memory, 64 * MIB, 0, 0));
        answers.asks(with + "buf offset>alloc", () -> handle.read(memory, 4096, 0, 64 * MIB));
        answers.asks(with + "huge size", () -> handle.read(memory, 1L << 62, 0, 0));
        answers.asks(with + "huge offset", () -> handle.read(memory, 4096, 1L << 62, 0));
        answers.asks(with + "unaligned off 3 size 1000 buf 5", () -> handle.read(memory, 1000, 3, 5));
    }

    private void writes(CuFileDriver driver, MemoryRange memory) throws IOException {
        int flags = PosixConstants.O_CREAT | PosixConstants.O_TRUNC | PosixConstants.O_RDWR;
        int fd = posix.open(written.toString(), flags | (direct ? PosixConstants.O_DIRECT : 0), 0644);
        try (CuFileHandle handle = driver.registerDescriptor(fd)) {
            answers.row("register tmp", "ok");
            write("write 4096", handle, memory, 4096, 0, 0);
            write("write 1000 at 4096", handle, memory, 1000, 4096, 0);
            write("write 10 at 100003", handle, memory, 10, 100_003, 7);
            write("write 0 at 1<<20", handle, memory, 0, MIB, 0);
            answers.asks("write negative offset", () -> handle.write(memory, 4096, -4096, 0));
            RawLibrary.limitFilesOfThisProcess(MIB);
            answers.asks("write over RLIMIT_FSIZE", () -> handle.write(memory, 65536, 2 * MIB, 0));
            answers.asks("write across RLIMIT_FSIZE", () -> handle.write(memory, 65536, MIB - 4096, 0));
            RawLibrary.limitFilesOfThisProcess(-1);
            answers.asks("size after RLIMIT_FSIZE", () -> Files.size(written));
            posix.close(fd);
            answers.asks("write after user closed fd", () -> handle.write(memory, 4096, 0, 0));
            int other = posix.open(answers.file().toString(), PosixConstants.O_RDONLY, 0);
            int reused = other == fd ? fd : posix.fcntl(other, PosixConstants.F_DUPFD_CLOEXEC, fd);
            answers.does("register reused fd number", () -> driver.registerDescriptor(reused).close());
            posix.close(reused);
        }
        Files.delete(written);
        if (!direct) {
            readLarge(driver);
        }
    }

    private void write(String name, CuFileHandle handle, MemoryRange memory, long size, long at, long from) {
        answers.asks(name, () -> handle.write(memory, size, at, from));
        answers.asks("size after " + name, () -> Files.size(written));
    }

    private void readLarge(CuFileDriver driver) throws IOException {
        long size = 3L << 30;
        answers.asks("read 3 GiB sparse", () -> {
            try (CuFileHandle handle = driver.openFile(
                    written, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
                    MemoryAllocation memory = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, size)) {
                handle.truncate(size);
                return handle.read(memory.range(), size, 0, 0);
            }
        });
        Files.delete(written);
    }
}
