package io.gds4j.libcufile.file;

import io.gds4j.engine.statistics.PathCounters;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.posix.FileForce;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.ffi.posix.PosixErrors;
import io.gds4j.ffi.posix.StatxResult;
import io.gds4j.internal.file.Pages;
import io.gds4j.internal.lifetime.InFlight;
import io.gds4j.libcufile.process.LibraryProcess.User;
import io.gds4j.libcufile.process.OpenLibrary;
import io.gds4j.source.FileVersion;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.Operation;
import io.gds4j.spi.ResultSink;
import io.gds4j.statistics.IoPath;
import io.gds4j.statistics.IoPathReport;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * A file that is registered with the library. Each use of its handle stands between {@link #enter} and {@link #exit}:
 * the library does not check handles, and a dead one corrupts the library's count of users.
 */
public final class LibraryFile implements BackendFile {

    private final User session;
    private final OpenLibrary openLibrary;
    private final Posix posix;
    private final OwnedDescriptor descriptor;
    private final FileForce force = new FileForce();
    private final @Nullable CallerDescriptor callerDescriptor;
    private final long handle;
    private final IoPathReport report;
    /** Path of the report; each request needs it, and reading it from the report would cost nanoseconds. */
    private final IoPath path;
    private final LongAdder moved;
    private final LongAdder written;
    private final boolean direct;
    private final boolean readable;
    private final boolean writable;
    private final InFlight users = new InFlight();
    private volatile boolean abandoned;

    /** @param callerDescriptor the descriptor that the program passed; null if it passed a path */
    public LibraryFile(
            User session,
            OpenLibrary openLibrary,
            Posix posix,
            OwnedDescriptor descriptor,
            @Nullable CallerDescriptor callerDescriptor,
            long handle,
            IoPathReport report,
            PathCounters counters) {
        this.session = session;
        this.openLibrary = openLibrary;
        this.posix = posix;
        this.descriptor = descriptor;
        this.callerDescriptor = callerDescriptor;
        this.handle = handle;
        this.report = report;
        this.path = report.path();
        this.moved = counters.of(path);
        this.written = counters.written();
        this.direct = descriptor.isDirect();
        this.readable = descriptor.isReadable();
        this.writable = descriptor.isWritable();
    }

    /** True for a file of this session. */
    public boolean isOf(User user) {
        return session == user;
    }

    /** {@code CUfileHandle_t}. */
    public long handle() {
        return handle;
    }

    public boolean isDirect() {
        return direct;
    }

    public IoPath servedBy() {
        return path;
    }

    /** Counts bytes that a transfer has moved. */
    public void countMoved(Operation operation, long bytes) {
        moved.add(bytes);
        if (operation.isWrite()) {
            written.add(bytes);
        }
    }

    /**
     * Reports bytes of a request, all under the path of the file: the library does not tell more.
     *
     * @param start offset of the first byte in the request
     */
    public void report(BatchRequest request, long start, long bytes) {
        if (bytes > 0 && request.sink() != ResultSink.NONE) {
            request.sink().moved(path, request.fileOffset() + start, bytes);
        }
    }

    /** The path that serves a file of any backend, as far as this backend knows. */
    public static IoPath pathOf(BackendFile file) {
        return file instanceof LibraryFile own ? own.servedBy() : IoPath.LIBCUFILE_POSIX;
    }

    /** The descriptor that the program passed; null if it passed a path. */
    public @Nullable CallerDescriptor callerDescriptor() {
        return callerDescriptor;
    }

    /** Adds a user; false if the file is no longer registered, or the JVM exits. */
    public boolean enter() {
        if (!users.enter()) {
            return false;
        }
        if (openLibrary.isExiting()) {
            users.exit();
            return false;
        }
        return true;
    }

    public void exit() {
        users.exit();
    }

    public boolean isBusy() {
        return users.users() > 0;
    }

    boolean isRegistered() {
        return !users.isClosed();
    }

    /** Never deregisters the file: the library may use it for ever. */
    public void abandon() {
        abandoned = true;
    }

    /** Waits for its users, then deregisters. Later calls wait for the first one. */
    public synchronized void deregister() {
        if (!users.close() || abandoned) {
            return;
        }
        // After the JVM's exit closed the library the descriptor stays open: the library may still use it.
        openLibrary.ifAlive(() -> {
            openLibrary.library().handleDeregister(handle);
            posix.close(descriptor.fd());
        });
    }

    /** The reason why {@link #enter} returned false. */
    public CuFileException refused(String function) {
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
     * Returns the bytes in the file now, or a negative errno; the caller has entered the file. Allocates nothing. {@code lseek}
     * is the cheapest call, but it moves the position, which the program shares with a shared descriptor.
     */
    public long end() {
        return descriptor.isShared() ? sizeNow() : posix.lseek(descriptor.fd(), 0, PosixConstants.SEEK_END);
    }

    /** Alignment of host memory, in bytes, that the kernel wants for direct I/O on this file. */
    public long directMemoryAlignment() {
        int known = descriptor.status().directMemoryAlignment();
        return known > 0 ? known : (int) Pages.SIZE;
    }

    private long sizeNow() {
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
    public FileVersion version() {
        if (descriptor.status().isBlockDevice()) {
            return FileVersion.ofSize(size());
        }
        if (!enter()) {
            throw refused("fstat");
        }
        try {
            StatxResult status = posix.statx(descriptor.fd());
            PosixErrors.check("fstat", "statx", status.error(), path());
            return status.version();
        } finally {
            exit();
        }
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
        call(name, name, () -> force.force(posix, descriptor.fd(), metadata));
    }

    @Override
    public void truncate(long size) {
        call("ftruncate", "ftruncate", () -> posix.ftruncate(descriptor.fd(), size));
    }

    @Override
    public boolean reserve(long size) {
        if (!enter()) {
            throw refused("fallocate");
        }
        try {
            return PosixErrors.reserve(posix, descriptor.fd(), size, path());
        } finally {
            exit();
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

    /**
     * A descriptor that the program registered a file by. The file belongs to it, because the program may close the descriptor and
     * open another file under its number.
     *
     * @param number the descriptor's number
     * @param deviceMajor device that holds the file
     * @param deviceMinor device that holds the file
     * @param inode inode number of the file
     */
    public record CallerDescriptor(int number, int deviceMajor, int deviceMinor, long inode) {
        /** @param status result of {@code statx} of the file */
        public static CallerDescriptor of(int number, StatxResult status) {
            return new CallerDescriptor(number, status.deviceMajor(), status.deviceMinor(), status.inode());
        }
    }
}
