package io.gds4j.ffi.cufile;

import io.gds4j.engine.statistics.PathCounters;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixErrors;
import io.gds4j.ffi.posix.StatxResult;
import io.gds4j.memory.InFlight;
import io.gds4j.spi.BackendFile;
import io.gds4j.statistics.IoPath;
import io.gds4j.statistics.IoPathReport;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.atomic.LongAdder;

/**
 * A file that is registered with the library. Whoever passes its handle on does so between {@link #enter} and
 * {@link #exit}: the library does not check handles, and one that is dead drops its count of users.
 */
final class LibraryFile implements BackendFile {
    private static final int NO_DESCRIPTOR = -1;
    private static final int PAGE = 4096;

    private final LibCuFileSession session;
    private final Posix posix;
    private final OwnedDescriptor descriptor;
    private final int callersDescriptor;
    private final long handle;
    private final IoPathReport report;
    /** What each request asks stands here: a further object costs it nanoseconds. */
    private final IoPath path;
    private final LongAdder moved;
    private final boolean direct;
    private final boolean readable;
    private final boolean writable;
    private final InFlight users = new InFlight();
    private final FileEnd end = new FileEnd(this::lookForTheEnd);
    private volatile boolean abandoned;

    /** @param callersDescriptor number of the descriptor it was registered by, or -1 */
    LibraryFile(
            LibCuFileSession session,
            Posix posix,
            OwnedDescriptor descriptor,
            int callersDescriptor,
            long handle,
            IoPathReport report,
            PathCounters counters) {
        this.session = session;
        this.posix = posix;
        this.descriptor = descriptor;
        this.callersDescriptor = callersDescriptor;
        this.handle = handle;
        this.report = report;
        this.path = report.path();
        this.moved = counters.of(path);
        this.direct = descriptor.isDirect();
        this.readable = descriptor.isReadable();
        this.writable = descriptor.isWritable();
    }

    LibCuFileSession session() {
        return session;
    }

    /** {@code CUfileHandle_t}. */
    long handle() {
        return handle;
    }

    boolean isDirect() {
        return direct;
    }

    IoPath servedBy() {
        return path;
    }

    /** Bytes that a transfer has moved. */
    void countMoved(long bytes) {
        moved.add(bytes);
    }

    /** What serves a file of any backend, as far as this one can tell. */
    static IoPath pathOf(BackendFile file) {
        return file instanceof LibraryFile ours ? ours.servedBy() : IoPath.LIBCUFILE_POSIX;
    }

    boolean isRegisteredBy(int fd, StatxResult file) {
        StatxResult own = descriptor.status();
        return callersDescriptor != NO_DESCRIPTOR
                && callersDescriptor == fd
                && own.deviceMajor() == file.deviceMajor()
                && own.deviceMinor() == file.deviceMinor()
                && own.inode() == file.inode();
    }

    /** Counts one use in; false if it is no longer registered, or the JVM exits. */
    boolean enter() {
        if (!users.enter()) {
            return false;
        }
        if (session.opening().isExiting()) {
            users.exit();
            return false;
        }
        return true;
    }

    void exit() {
        users.exit();
    }

    boolean isBusy() {
        return users.users() > 0;
    }

    boolean isRegistered() {
        return !users.isClosed();
    }

    /** The library still uses it and nobody knows until when: it must never be deregistered. */
    void abandon() {
        abandoned = true;
    }

    /** Waits for its users, then deregisters; only the first call does, others wait for it. */
    synchronized void deregister() {
        if (!users.close() || abandoned) {
            return;
        }
        Opening opening = session.opening();
        // A library that the JVM's exit closes might be using the descriptor until it has.
        opening.ifAlive(() -> {
            opening.library().handleDeregister(handle);
            posix.close(descriptor.fd());
        });
    }

    /** Why {@link #enter} answered false. */
    CuFileException refused(String function) {
        CuFileException.Builder failure = CuFileException.builder(function).path(path());
        if (isRegistered()) {
            return failure.error(CuFileError.DRIVER_CLOSING).detail("the JVM is exiting").build();
        }
        return failure.error(CuFileError.HANDLE_NOT_REGISTERED).detail("the file is not registered").build();
    }

    @Override
    public Optional<Path> path() {
        return descriptor.path();
    }

    @Override
    public boolean isReadable() {
        return readable;
    }

    @Override
    public boolean isWritable() {
        return writable;
    }

    /**
     * Where the file ends for a request that reaches to {@code reach}, or a negative number if nobody knows; see
     * {@link FileEnd#before}. For those who are inside. Allocates nothing.
     */
    long endBefore(long reach) {
        return end.before(reach, KernelTick.now());
    }

    /** The position of an open file that the program has, too, is not ours to move. */
    private long lookForTheEnd() {
        return descriptor.isShared() ? sizeNow() : FileEnd.seek(descriptor.fd());
    }

    /** Bytes to which the kernel wants host memory aligned for direct I/O on it. */
    long directMemoryAlignment() {
        int told = descriptor.status().directMemoryAlignment();
        return told > 0 ? told : PAGE;
    }

    /** Bytes in the file now, or a negative errno; for those who are inside. */
    long sizeNow() {
        if (descriptor.status().isBlockDevice()) {
            return posix.blockDeviceSize(descriptor.fd());
        }
        StatxResult status = posix.statx(descriptor.fd());
        return status.error() != 0 ? status.error() : status.size();
    }

    @Override
    public long size() {
        return call("fstat", "statx", this::sizeNow);
    }

    @Override
    public IoPathReport ioPath() {
        return report;
    }

    @Override
    public OptionalInt ownDescriptor() {
        return OptionalInt.of(descriptor.fd());
    }

    @Override
    public void force(boolean metadata) {
        String name = metadata ? "fsync" : "fdatasync";
        call(name, name, () -> metadata ? posix.fsync(descriptor.fd()) : posix.fdatasync(descriptor.fd()));
    }

    @Override
    public void truncate(long size) {
        try {
            call("ftruncate", "ftruncate", () -> posix.ftruncate(descriptor.fd(), size));
        } finally {
            FileEnd.shrunk();
        }
    }

    private interface SystemCall {
        long run();
    }

    private long call(String function, String name, SystemCall call) {
        if (!enter()) {
            throw refused(function);
        }
        try {
            return PosixErrors.check(function, name, call.run(), path());
        } finally {
            exit();
        }
    }

    @Override
    public String toString() {
        return "LibraryFile[%s, handle=0x%x]".formatted(path().map(Path::toString).orElse("descriptor"), handle);
    }
}
