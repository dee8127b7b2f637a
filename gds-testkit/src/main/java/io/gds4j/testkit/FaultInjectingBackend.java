package io.gds4j.testkit;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.FileSource;
import io.gds4j.spi.ForwardingBackend;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A backend that delegates to another one and injects faults, to test how a program handles a full disk, a bad block or
 * a slow device.
 *
 * <pre>{@code
 * FaultInjectingBackend backend = new FaultInjectingBackend(new ReferenceBackend());
 * backend.failWrite(3, Errno.ENOSPC);
 * try (CuFileDriver driver = CuFileDriver.open(backend)) {
 *     saveCheckpoint(driver, path);     // its third write fails: disk full
 * }
 * }</pre>
 *
 * <p>
 * Numbers reads, writes and registrations from 1 in the order in which they start. Thread-safe.
 *
 * @since 0.1
 */
public final class FaultInjectingBackend extends ForwardingBackend {
    private final Calls reads = new Calls();
    private final Calls writes = new Calls();
    private final Calls registrations = new Calls();
    private final Calls buffers = new Calls();

    /** Creates a backend that delegates to {@code delegate}. */
    public FaultInjectingBackend(CuFileBackend delegate) {
        super(delegate);
    }

    /** Makes the {@code nth} read fail with this errno before it moves a byte. */
    public void failRead(long nth, int errno) {
        failRead(nth, errno, 0);
    }

    /** Makes the {@code nth} read move up to {@code bytes} bytes and then fail with this errno. */
    public void failRead(long nth, int errno, long bytes) {
        reads.plan(nth, ofErrno(errno, bytes));
    }

    /** Makes the {@code nth} write fail with this errno before it moves a byte. */
    public void failWrite(long nth, int errno) {
        failWrite(nth, errno, 0);
    }

    /** Makes the {@code nth} write move {@code bytes} bytes and then fail with this errno. */
    public void failWrite(long nth, int errno, long bytes) {
        writes.plan(nth, ofErrno(errno, bytes));
    }

    /** Makes the {@code nth} file registration fail with this errno. */
    public void failRegistration(long nth, int errno) {
        registrations.plan(nth, ofErrno(errno, 0));
    }

    /**
     * Makes the {@code nth} registration of memory fail with this code, such as those of a driver without room
     * (INVALID_MAPPING_SIZE, GPU_MEMORY_PINNING_FAILED, NOMEM_ERROR).
     */
    public void failBufferRegistration(long nth, CuFileError error) {
        buffers.plan(nth, new Failure(Objects.requireNonNull(error, "error"), 0, 0));
    }

    /** Makes the {@code nth} read wait at the returned gate before it moves a byte. */
    public Gate holdRead(long nth) {
        return reads.hold(nth);
    }

    /** Makes the {@code nth} write wait at the returned gate before it moves a byte. */
    public Gate holdWrite(long nth) {
        return writes.hold(nth);
    }

    /** Returns the number of reads that have started. */
    public long readCount() {
        return reads.count.get();
    }

    /** Returns the number of writes that have started. */
    public long writeCount() {
        return writes.count.get();
    }

    /** Returns the number of file registrations that have started. */
    public long registrationCount() {
        return registrations.count.get();
    }

    /** Returns the number of memory registrations that have started. */
    public long bufferRegistrationCount() {
        return buffers.count.get();
    }

    @Override
    public BackendFile handleRegister(FileSource source) {
        Failure failure = registrations.next();
        if (failure != Failure.NONE) {
            throw failure.exception("cuFileHandleRegister", -1, -1, 0).build();
        }
        return super.handleRegister(source);
    }

    @Override
    public void bufRegister(MemoryRange range, int flags) {
        failBufferRegistration(range);
        super.bufRegister(range, flags);
    }

    @Override
    public void bufRegisterNow(MemoryRange range, int flags) {
        failBufferRegistration(range);
        super.bufRegisterNow(range, flags);
    }

    private void failBufferRegistration(MemoryRange range) {
        Failure failure = buffers.next();
        if (failure != Failure.NONE) {
            throw failure.exception("cuFileBufRegister", -1, range.length(), 0).build();
        }
    }

    @Override
    public long read(BackendFile file, MemoryRange base, long size, long fileOffset, long bufferOffset) {
        Failure failure = reads.next();
        if (failure == Failure.NONE) {
            return super.read(file, base, size, fileOffset, bufferOffset);
        }
        long part = Math.min(size, failure.bytes);
        long moved = part == 0 ? 0 : super.read(file, base, part, fileOffset, bufferOffset);
        throw failure.exception("cuFileRead", fileOffset, size, moved).path(file.path()).build();
    }

    @Override
    public long write(BackendFile file, MemoryRange base, long size, long fileOffset, long bufferOffset) {
        Failure failure = writes.next();
        if (failure == Failure.NONE) {
            return super.write(file, base, size, fileOffset, bufferOffset);
        }
        long part = Math.min(size, failure.bytes);
        long moved = part == 0 ? 0 : super.write(file, base, part, fileOffset, bufferOffset);
        throw failure.exception("cuFileWrite", fileOffset, size, moved).path(file.path()).build();
    }

    private record Failure(CuFileError code, int errno, long bytes) {

        static final Failure NONE = new Failure(0, 0);

        Failure(int errno, long bytes) {
            this(code(errno), errno, bytes);
        }

        CuFileException.Builder exception(String function, long fileOffset, long size, long moved) {
            CuFileException.Builder failure = CuFileException.builder(function)
                    .error(code)
                    .range(fileOffset, size)
                    .transferred(moved)
                    .detail("injected by FaultInjectingBackend");
            return errno == 0 ? failure : failure.errno(errno);
        }

        private static CuFileError code(int errno) {
            return switch (errno) {
                case Errno.EACCES, Errno.EPERM, Errno.EROFS -> CuFileError.PERMISSION_DENIED;
                case Errno.EINVAL, Errno.ENOENT -> CuFileError.INVALID_VALUE;
                case Errno.EBADF -> CuFileError.INVALID_FILE_OPEN_FLAG;
                case Errno.ENOMEM -> CuFileError.NOMEM_ERROR;
                default -> CuFileError.IO_ERROR;
            };
        }
    }

    private static Failure ofErrno(int errno, long bytes) {
        if (errno <= 0 || bytes < 0) {
            throw new IllegalArgumentException("errno %d, bytes %d".formatted(errno, bytes));
        }
        return new Failure(errno, bytes);
    }

    private static final class Calls {
        private final AtomicLong count = new AtomicLong();
        private final Map<Long, Failure> failures = new ConcurrentHashMap<>();
        private final Map<Long, Gate> gates = new ConcurrentHashMap<>();

        void plan(long nth, Failure failure) {
            checkFuture(nth);
            failures.put(nth, failure);
        }

        Gate hold(long nth) {
            checkFuture(nth);
            return gates.computeIfAbsent(nth, number -> new Gate());
        }

        private void checkFuture(long nth) {
            if (nth <= count.get()) {
                throw new IllegalArgumentException("call %d is past: %d have started".formatted(nth, count.get()));
            }
        }

        Failure next() {
            long number = count.incrementAndGet();
            Gate gate = gates.remove(number);
            if (gate != null) {
                gate.pass();
            }
            Failure failure = failures.remove(number);
            return failure == null ? Failure.NONE : failure;
        }
    }
}
