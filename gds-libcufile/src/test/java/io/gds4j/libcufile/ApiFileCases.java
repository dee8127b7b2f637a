package io.gds4j.libcufile;

import io.gds4j.BufferFlag;
import io.gds4j.CuFileBuffer;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.ffi.cufile.RawLibrary;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.NativeDescriptors;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;

/** Cases of registering files and memory, by the public API. */
final class ApiFileCases {
    private static final long MIB = RawLibrary.MIB;

    private final ApiAnswers answers;
    private final Posix posix = FfmPosix.instance();

    ApiFileCases(ApiAnswers answers) {
        this.answers = answers;
    }

    void handles() {
        CuFileDriver driver = answers.open();
        answers.row("open", "ok");
        MemoryAllocation memory = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, RawLibrary.BYTES);
        NativeDescriptors descriptors = new NativeDescriptors();
        answers.asks("handleRegister(null,null)", () -> driver.openFile((Path) null));
        register(driver, "fd -1", -1);
        register(driver, "fd 9999", 9999);
        register(driver, "pipe", descriptors.pipe());
        register(driver, "directory", open(Path.of("/"), PosixConstants.O_RDONLY));
        register(driver, "memfd", descriptors.memfd().orElseThrow());
        register(driver, "/dev/null", open(Path.of("/dev/null"), PosixConstants.O_RDWR));
        register(driver, "O_APPEND", open(PosixConstants.O_RDWR | PosixConstants.O_APPEND));
        register(driver, "O_WRONLY", open(PosixConstants.O_WRONLY));
        int readOnly = open(PosixConstants.O_RDONLY);
        answers.asks("O_RDONLY", () -> {
            try (CuFileHandle handle = driver.registerDescriptor(readOnly)) {
                answers.asks("write on O_RDONLY", () -> handle.write(memory.range(), 4096, 0, 0));
                return "ok";
            }
        });
        register(driver, "O_PATH", open(PosixConstants.O_PATH));
        register(driver, "O_SYNC", open(PosixConstants.O_RDWR | PosixConstants.O_SYNC));
        int fd = open(PosixConstants.O_RDWR);
        CuFileHandle handle = driver.registerDescriptor(fd);
        answers.row("register", "ok");
        register(driver, "register same fd twice", fd);
        register(driver, "register dup fd", descriptors.duplicate(fd).orElseThrow());
        handle.close();
        answers.asks("read deregistered handle", () -> handle.read(memory.range(), 4096, 0, 0));
        answers.does("double deregister", handle::close);
        memory.close();
        answers.does("close", driver::close);
    }

    private int open(int flags) {
        return open(answers.file(), flags);
    }

    private int open(Path path, int flags) {
        return posix.open(path.toString(), flags, 0);
    }

    private void register(CuFileDriver driver, String name, int fd) {
        answers.does(name, () -> driver.registerDescriptor(fd).close());
    }

    void buffers() {
        CuFileDriver driver = answers.open();
        answers.row("open", "ok");
        try (MemoryAllocation memory = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, RawLibrary.BYTES)) {
            registrations(driver, memory.range());
        }
        try (CuFileHandle handle = driver.openFile(answers.file())) {
            kinds(driver, handle);
        }
    }

    private void registrations(CuFileDriver driver, MemoryRange range) {
        long address = range.address();
        answers.asks("bufRegister(null)", () -> driver.registerBuffer((MemoryRange) null));
        answers.does("bufRegister len 0", () -> driver.registerBuffer(range.slice(0, 0)));
        answers.does("bufRegister len>alloc",
                () -> driver.registerBuffer(MemoryRange.ofAddress(address, 64 * MIB, MemoryKind.CUDA_DEVICE)));
        answers.does("bufRegister SIZE_MAX",
                () -> driver.registerBuffer(MemoryRange.ofAddress(address, -1, MemoryKind.CUDA_DEVICE)));
        CuFileBuffer whole = driver.registerBuffer(range);
        answers.does("bufRegister again", () -> driver.registerBuffer(range));
        answers.asks("bufRegister interior", () -> {
            CuFileBuffer part = driver.registerBuffer(range.slice(65536, 65536));
            answers.does("bufDeregister interior", part::close);
            return "ok";
        });
        answers.does("bufDeregister", whole::close);
        answers.does("bufDeregister twice", whole::close);
        answers.does("register unaligned base+1 4096", () -> driver.registerBuffer(range.slice(1, 4096)).close());
        answers.does("register flag RDMA 1",
                () -> driver.registerBuffer(range, Set.of(BufferFlag.RDMA_REGISTER)).close());
    }

    private void kinds(CuFileDriver driver, CuFileHandle handle) {
        MemoryAllocation host = driver.allocator().allocate(MemoryKind.HOST, MIB);
        MemoryAllocation pinned = driver.allocator().allocate(MemoryKind.HOST_PINNED, MIB);
        MemoryAllocation managed = driver.allocator().allocate(MemoryKind.CUDA_MANAGED, MIB);
        MemoryAllocation pool = driver.allocator().allocate(MemoryKind.CUDA_POOL, MIB);
        answers.does("register malloc host", () -> driver.registerBuffer(host.range()).close());
        answers.does("register pinned host", () -> driver.registerBuffer(pinned.range()).close());
        // The library learns of memory at its first transfer. It refuses this kind and serves it unregistered.
        answers.does("register managed", () -> {
            try (CuFileBuffer buffer = driver.registerBuffer(managed.range())) {
                handle.read(buffer, 4096, 0, 0);
            }
        });
        CuFileBuffer registered = driver.registerBuffer(pool.range());
        answers.row("register stream-ordered pool", "ok");
        answers.asks("read into malloc host", () -> handle.read(host.range(), 4096, 0, 0));
        answers.asks("read into pinned host", () -> handle.read(pinned.range(), 4096, 0, 0));
        answers.asks("read into managed", () -> handle.read(managed.range(), 4096, 0, 0));
        answers.asks("read into pool mem", () -> handle.read(registered, 4096, 0, 0));
        answers.asks("read into malloc host unaligned", () -> handle.read(host.range(), 1000, 3, 5));
        answers.does("close with buffers and handle registered", driver::close);
        List.of(host, pinned, managed, pool).forEach(MemoryAllocation::close);
    }
}
