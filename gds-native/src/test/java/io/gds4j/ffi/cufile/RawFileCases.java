package io.gds4j.ffi.cufile;

import io.gds4j.ffi.posix.NativeDescriptors;
import io.gds4j.ffi.posix.PosixConstants;
import java.nio.file.Path;

/** Cases of registering descriptors and memory of every kind. */
final class RawFileCases {
    private static final int WIN32 = 2;
    private static final int USERSPACE_FS = 3;

    private final RawLibrary library;
    private final CuFileCalls calls;

    RawFileCases(RawLibrary library) {
        this.library = library;
        this.calls = library.calls;
    }

    private void descriptor(String name, int type, int fd) {
        library.status(name,
                calls.status(CuFileFunction.HANDLE_REGISTER, library.cell(0).address(),
                        library.descriptor(type, fd).address()));
    }

    void handles() {
        library.driverOpen("open");
        library.status("handleRegister(null,null)",
                calls.status(CuFileFunction.HANDLE_REGISTER, 0, 0));
        descriptor("fd -1", FileDescr.OPAQUE_FD, -1);
        descriptor("fd 9999", FileDescr.OPAQUE_FD, 9999);
        descriptor("type win32", WIN32, library.buffered);
        descriptor("type userspace no ops", USERSPACE_FS, library.buffered);
        descriptor("type 7", 7, library.buffered);
        NativeDescriptors descriptors = new NativeDescriptors();
        library.register("pipe", descriptors.pipe());
        library.register("directory", library.open(Path.of("/"), PosixConstants.O_RDONLY));
        library.register("memfd", descriptors.memfd().orElseThrow());
        library.register("/dev/null", library.open(Path.of("/dev/null"), PosixConstants.O_RDWR));
        library.register("O_APPEND", library.open(PosixConstants.O_RDWR | PosixConstants.O_APPEND));
        library.register("O_WRONLY", library.open(PosixConstants.O_WRONLY));
        long readOnly = library.register("O_RDONLY", library.open(PosixConstants.O_RDONLY));
        library.write("write on O_RDONLY", readOnly, library.device, 4096, 0, 0);
        library.register("O_PATH", library.open(PosixConstants.O_PATH));
        library.register("O_SYNC", library.open(PosixConstants.O_RDWR | PosixConstants.O_SYNC));
        long handle = library.register("register", library.buffered);
        library.register("register same fd twice", library.buffered);
        library.register("register dup fd", descriptors.duplicate(library.buffered).orElseThrow());
        calls.run(CuFileFunction.HANDLE_DEREGISTER, handle);
        library.read("read deregistered handle", handle, library.device, 4096, 0, 0);
        calls.run(CuFileFunction.HANDLE_DEREGISTER, handle);
        library.row("double deregister", "survived");
        calls.run(CuFileFunction.HANDLE_DEREGISTER, 0);
        library.row("deregister null", "survived");
        library.driverClose("close");
    }

    void buffers() {
        long device = library.device;
        long all = RawLibrary.BYTES;
        library.driverOpen("open");
        library.bufRegister("bufRegister(null)", 0, 4096, 0);
        library.bufRegister("bufRegister len 0", device, 0, 0);
        library.bufRegister("bufRegister len>alloc", device, 64 * RawLibrary.MIB, 0);
        library.bufRegister("bufRegister SIZE_MAX", device, -1, 0);
        library.bufRegister("bufRegister flags 0x80", device, all, 0x80);
        library.bufRegister("bufRegister again", device, all, 0);
        library.bufRegister("bufRegister interior", device + 65536, 65536, 0);
        library.bufDeregister("bufDeregister interior", device + 65536);
        library.bufDeregister("bufDeregister", device);
        library.bufDeregister("bufDeregister twice", device);
        library.bufDeregister("bufDeregister(null)", 0);
        library.bufRegister("register unaligned base+1 4096", device + 1, 4096, 0);
        calls.status(CuFileFunction.BUF_DEREGISTER, device + 1);
        library.bufRegister("register flag RDMA 1", device, all, 1);
        calls.status(CuFileFunction.BUF_DEREGISTER, device);
        kinds();
    }

    private void kinds() {
        long[] out = new long[1];
        long mib = RawLibrary.MIB;
        long heap = library.arena.allocate(mib, 4096).address();
        registerBriefly("register malloc host", heap);
        RawLibrary.succeed(library.cuda.memHostAlloc(out, mib, 0));
        long pinned = out[0];
        registerBriefly("register pinned host", pinned);
        RawLibrary.succeed(library.cuda.memAllocManaged(out, mib, 1));
        long managed = out[0];
        registerBriefly("register managed", managed);
        long stream = library.stream();
        RawLibrary.succeed(library.cuda.memAllocAsync(out, mib, stream));
        RawLibrary.succeed(library.cuda.streamSynchronize(stream));
        long pool = out[0];
        library.bufRegister("register stream-ordered pool", pool, mib, 0);
        long handle = library.registerSilently(library.buffered);
        library.read("read into malloc host", handle, heap, 4096, 0, 0);
        library.read("read into pinned host", handle, pinned, 4096, 0, 0);
        library.read("read into managed", handle, managed, 4096, 0, 0);
        library.read("read into pool mem", handle, pool, 4096, 0, 0);
        library.read("read into malloc host unaligned", handle, heap, 1000, 3, 5);
        library.driverClose("close with buffers and handle registered");
    }

    private void registerBriefly(String name, long base) {
        library.bufRegister(name, base, RawLibrary.MIB, 0);
        calls.status(CuFileFunction.BUF_DEREGISTER, base);
    }
}
