package io.gds4j;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.lifetime.Lifetime;
import io.gds4j.internal.lifetime.ThreadState;
import io.gds4j.internal.registration.CachedRegistration;
import io.gds4j.internal.registration.RegistrationCache;
import io.gds4j.memory.IoMemory;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.FileSource;
import io.gds4j.spi.TransferArguments;
import io.gds4j.statistics.IoPathReport;
import java.lang.ref.Reference;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * A registered file ({@code cuFileHandleRegister}): reads it into memory and writes memory to it.
 *
 * <pre>{@code
 * long n = handle.read(memory, 1 << 20, 4096, 0);   // 1 MiB from file offset 4096 to the start of the memory
 * }</pre>
 *
 * <p>
 * Thread-safe; positions are arguments, never state. {@link #close} waits for I/O in flight.
 *
 * <p>
 * Virtual threads: transfers of GPU memory, all that libcufile serves, futures and reads ahead are made by platform threads. What
 * {@code read} and {@code write} move between host memory and a file by gds4j's own engine is moved by the caller, and the system
 * calls hold its carrier: {@code readAsync(…).join()} does not, which pays where a disk is waited for. So do opening a file and
 * registering memory, for as long as kernel and driver take.
 *
 * <p>
 * After {@code close()} every method but {@link #path}, {@link #isOpen}, {@link #close} and {@link #toString} throws
 * HANDLE_NOT_REGISTERED, and once the driver is closed DRIVER_NOT_INITIALIZED.
 *
 * @since 0.1
 */
public final class CuFileHandle implements AutoCloseable {
    /** Largest size of one request, in bytes. */
    public static final long MAX_REQUEST_SIZE = TransferArguments.MAX_SIZE;

    /** Keeps the driver's session open while this handle is reachable. */
    private final SessionUse use;
    private final Session session;
    private final BackendFile file;
    private final Lifetime lifetime;

    private CuFileHandle(SessionUse use, BackendFile file) {
        this.use = use;
        this.session = use.session();
        this.file = file;
        CuFileBackend backend = session.backend();
        String what = "CuFileHandle of " + file.path().map(Path::toString).orElse("a descriptor");
        this.lifetime = session
                .adopt(Session.Role.TARGET, this, what, () -> backend.handleDeregister(file));
    }

    static CuFileHandle register(SessionUse use, FileSource source) {
        return use.session()
                .call("cuFileHandleRegister", backend -> new CuFileHandle(use, backend.handleRegister(source)));
    }

    /**
     * Reads from the file into memory ({@code cuFileRead}).
     *
     * @param memory receives the bytes
     * @param size bytes to read, 0 to 2^62
     * @param fileOffset first byte in the file
     * @param bufferOffset first byte in the memory
     * @return bytes read: {@code size}, or less at the end of the file (0 at or past it, never -1). Bytes of the memory
     *         behind the count are untouched, unless another writer truncates the file during the call
     * @throws CuFileException INVALID_VALUE (EINVAL) for a negative or overflowing argument, CUDA_POINTER_RANGE_ERROR past
     *         the end of the memory, INVALID_MAPPING_RANGE past the end of a registered buffer, INVALID_FILE_OPEN_FLAG
     *         (EBADF) if the file is not open for reading, PERMISSION_DENIED into a read-only segment or without the right of
     *         the buffer or window, CUDA_POINTER_INVALID if the memory or its arena is closed, MEMORY_NOT_REGISTERED if the
     *         buffer or window is closed or of another session, HANDLE_NOT_REGISTERED after close; an errno where the kernel
     *         failed
     * @throws io.gds4j.error.CuFileInterruptedException if the thread is interrupted between pieces
     */
    public long read(IoMemory memory, long size, long fileOffset, long bufferOffset) {
        return transferNow(false, memory, size, fileOffset, bufferOffset);
    }

    /**
     * Reads {@code memory.range().length()} bytes from {@code fileOffset} on; see {@link #read(IoMemory, long, long, long)}.
     *
     * @param memory receives the bytes
     * @param fileOffset first byte in the file
     * @return bytes read
     */
    public long read(IoMemory memory, long fileOffset) {
        return read(memory, memory.range().length(), fileOffset, 0);
    }

    /**
     * Writes memory to the file ({@code cuFileWrite}); all of it, or an exception that says how much.
     *
     * @param memory holds the bytes
     * @param size bytes to write, 0 to 2^62; 0 never makes the file longer
     * @param fileOffset first byte in the file; past the end the gap reads as zeros
     * @param bufferOffset first byte in the memory
     * @return {@code size}
     * @throws CuFileException as {@link #read(IoMemory, long, long, long)} does; INVALID_FILE_OPEN_FLAG (EBADF) if the file is
     *         not open for writing; ENOSPC, EDQUOT, EFBIG or EIO where the kernel says so, and
     *         {@link CuFileException#bytesTransferred()} the contiguous count
     * @throws io.gds4j.error.CuFileInterruptedException if the thread is interrupted between pieces
     */
    public long write(IoMemory memory, long size, long fileOffset, long bufferOffset) {
        return transferNow(true, memory, size, fileOffset, bufferOffset);
    }

    /**
     * Writes {@code memory.range().length()} bytes at {@code fileOffset}; see {@link #write(IoMemory, long, long, long)}.
     *
     * @param memory holds the bytes
     * @param fileOffset first byte in the file
     * @return bytes written
     */
    public long write(IoMemory memory, long fileOffset) {
        return write(memory, memory.range().length(), fileOffset, 0);
    }

    /**
     * Starts {@link #read(IoMemory, long, long, long)} and returns at once. It runs on a platform thread of the driver, so that
     * no virtual thread's carrier is held. Closing file, memory or driver waits for it.
     *
     * @param memory receives the bytes: an allocation, a registered buffer over one, or a segment of the global or an automatic
     *        arena, which the call keeps reachable
     * @param size bytes to read, 0 to 2^62
     * @param fileOffset first byte in the file
     * @param bufferOffset first byte in the memory
     * @return completes with the bytes read, or with what {@code read} throws. Cancelling keeps a read from beginning or ends it
     *         after the pieces in flight, which may still fill the memory
     * @throws CuFileException for arguments as {@code read}; CUDA_MEMORY_TYPE_INVALID for a segment of an arena that could be
     *         closed meanwhile
     */
    @Experimental
    public CompletableFuture<Long> readAsync(IoMemory memory, long size, long fileOffset, long bufferOffset) {
        return start(request(false, size, fileOffset, bufferOffset), memory);
    }

    /**
     * Starts {@link #write(IoMemory, long, long, long)} and returns at once; see
     * {@link #readAsync(IoMemory, long, long, long)}.
     *
     * @param memory holds the bytes
     * @param size bytes to write, 0 to 2^62
     * @param fileOffset first byte in the file
     * @param bufferOffset first byte in the memory
     * @return completes with {@code size}, or with what {@code write} throws
     */
    @Experimental
    public CompletableFuture<Long> writeAsync(IoMemory memory, long size, long fileOffset, long bufferOffset) {
        return start(request(true, size, fileOffset, bufferOffset), memory);
    }

    /** A transfer on this thread. Allocates nothing unless it fails: only then a {@link RequestCheck} says what is wrong. */
    private long transferNow(boolean write, IoMemory memory, long size, long fileOffset, long bufferOffset) {
        if (!RequestCheck.isWithin(memory, write, size, fileOffset, bufferOffset)) {
            request(write, size, fileOffset, bufferOffset).checkWithin(memory);
        }
        ThreadState here = ThreadState.current();
        if (!lifetime.enter(here)) {
            throw closed(request(write, size, fileOffset, bufferOffset));
        }
        boolean entered = false;
        try {
            if (write ? !file.isWritable() : !file.isReadable()) {
                checkRights(request(write, size, fileOffset, bufferOffset));
            }
            try {
                MemoryUse.enter(session, memory, here);
            } catch (CuFileException e) {
                throw request(write, size, fileOffset, bufferOffset).named(e);
            }
            entered = true;
            return transfer(write, memory, size, fileOffset, bufferOffset);
        } finally {
            if (entered) {
                MemoryUse.exit(memory, here);
            }
            lifetime.exit(here);
        }
    }

    private RequestCheck request(boolean write, long size, long fileOffset, long bufferOffset) {
        String function = write ? "cuFileWrite" : "cuFileRead";
        return new RequestCheck(function, file.path(), write, size, fileOffset, bufferOffset);
    }

    /** Moves the bytes; whoever calls holds file and memory. */
    private long transfer(boolean write, IoMemory memory, long size, long fileOffset, long bufferOffset) {
        RegistrationCache cache = session.cache();
        if (cache == null || !(memory instanceof MemoryRange range)) {
            long start = MemoryUse.start(memory) + bufferOffset;
            return transfer(write, MemoryUse.base(memory), size, fileOffset, start);
        }
        CachedRegistration registration = cache.use(range);
        if (registration == null) {
            return transfer(write, range, size, fileOffset, bufferOffset);
        }
        try {
            MemoryRange whole = registration.whole();
            return transfer(write, whole, size, fileOffset, range.address() - whole.address() + bufferOffset);
        } finally {
            registration.exit();
            Reference.reachabilityFence(range);
        }
    }

    private long transfer(boolean write, MemoryRange base, long size, long fileOffset, long offset) {
        TransferEvent event = FlightEvents.transfer(write);
        CuFileBackend backend = session.backend();
        long moved = 0;
        try {
            moved = write
                    ? backend.write(file, base, size, fileOffset, offset)
                    : backend.read(file, base, size, fileOffset, offset);
            return moved;
        } finally {
            if (event != null) {
                event.record(file, fileOffset, size, moved);
            }
        }
    }

    private CompletableFuture<Long> start(RequestCheck request, IoMemory memory) {
        request.checkWithin(memory);
        // Allocated before anything is held: the heap may be exhausted.
        AsyncCalls calls = session.asyncCalls();
        AsyncCalls.Call call = calls.call(
                this,
                memory,
                () -> transfer(
                        request.write(), memory, request.size(), request.fileOffset(), request.bufferOffset()));
        if (!lifetime.hold()) {
            throw closed(request);
        }
        boolean holdsMemory = false;
        boolean started = false;
        try {
            checkRights(request);
            holdMemory(request, memory);
            holdsMemory = true;
            calls.start(call, request.function());
            started = true;
            return call;
        } finally {
            if (!started && holdsMemory) {
                letGo(memory);
            } else if (!started) {
                lifetime.letGo();
            }
        }
    }

    private void holdMemory(RequestCheck request, IoMemory memory) {
        try {
            MemoryUse.hold(session, memory);
        } catch (CuFileException e) {
            throw request.named(e);
        }
    }

    void letGo(IoMemory memory) {
        MemoryUse.letGo(memory);
        lifetime.letGo();
    }

    /**
     * Reads ranges of this file one after the other into buffers of the caller's, several ahead of where the caller is.
     *
     * <pre>{@code
     * try (PrefetchedReads reads = handle.prefetch(List.of(first, second, third), ranges.iterator())) {
     *     while (reads.hasNext()) {
     *         PrefetchedReads.Chunk chunk = reads.next();   // valid until the next call
     *         use(chunk.memory(), chunk.bytes());
     *     }
     * }
     * }</pre>
     *
     * @param buffers memory of its own for each read that may be ahead: as {@link #readAsync} takes it
     * @param ranges what to read, in order; taken as buffers come free
     * @return the reads, to be closed
     * @throws CuFileException INVALID_VALUE if there are no buffers
     */
    @Experimental
    public PrefetchedReads prefetch(List<? extends IoMemory> buffers, Iterator<PrefetchedReads.FileRange> ranges) {
        return new PrefetchedReads(this, List.copyOf(buffers), ranges);
    }

    /**
     * Fills several ranges from consecutive bytes of the file ({@code cuFileReadv} of cuFile 1.19).
     *
     * @param ranges the memory, in the order of the file
     * @param fileOffset first byte in the file
     * @return bytes read; less than the ranges hold only at the end of the file
     * @throws CuFileException as {@link #read(IoMemory, long, long, long)} does; IO_NOT_SUPPORTED if the backend has no such
     *         function
     */
    @Experimental
    public long readv(List<MemoryRange> ranges, long fileOffset) {
        return vectored("cuFileReadv", ranges, fileOffset, false);
    }

    /**
     * Writes several ranges to consecutive bytes of the file ({@code cuFileWritev} of cuFile 1.19).
     *
     * @param ranges the memory, in the order of the file
     * @param fileOffset first byte in the file
     * @return the number of bytes that the ranges hold
     * @throws CuFileException as {@link #write(IoMemory, long, long, long)} does; IO_NOT_SUPPORTED if the backend has no such
     *         function
     */
    @Experimental
    public long writev(List<MemoryRange> ranges, long fileOffset) {
        return vectored("cuFileWritev", ranges, fileOffset, true);
    }

    private long vectored(String function, List<MemoryRange> ranges, long fileOffset, boolean write) {
        List<MemoryRange> copy = List.copyOf(ranges);
        RequestCheck request =
                new RequestCheck(function, file.path(), write, TransferArguments.total(copy), fileOffset, 0);
        request.checkNumbers();
        copy.forEach(request::checkAccess);
        ThreadState here = ThreadState.current();
        enter(request, here);
        int held = 0;
        try {
            checkRights(request);
            for (MemoryRange range : copy) {
                enterMemory(request, range, here);
                held++;
            }
            CuFileBackend backend = session.backend();
            return write ? backend.writev(file, copy, fileOffset, 0) : backend.readv(file, copy, fileOffset, 0);
        } finally {
            copy.subList(0, held).reversed().forEach(range -> MemoryUse.exit(range, here));
            lifetime.exit(here);
        }
    }

    /** {@return the file's name when it was registered, where the kernel knows one} */
    public Optional<Path> path() {
        return file.path();
    }

    /**
     * Bytes in the file now; of a block device its capacity.
     *
     * @return bytes
     * @throws CuFileException with an errno where the kernel failed
     */
    public long size() {
        enter("fstat", -1);
        try {
            return file.size();
        } finally {
            lifetime.exit();
        }
    }

    /** {@return which way an aligned request on this file goes now, and why} */
    public IoPathReport ioPath() {
        enter("ioPath", -1);
        try {
            return file.ioPath();
        } finally {
            lifetime.exit();
        }
    }

    /**
     * Makes everything written so far durable.
     *
     * @param metadata also the file's times and other metadata ({@code fsync}), not only data and size ({@code fdatasync})
     * @throws CuFileException with an errno where the kernel failed
     */
    public void force(boolean metadata) {
        enter(metadata ? "fsync" : "fdatasync", -1);
        try {
            file.force(metadata);
        } finally {
            lifetime.exit();
        }
    }

    /**
     * Sets the file's length: cuts it, or adds a hole that reads as zeros.
     *
     * @param size bytes, 0 or more
     * @throws CuFileException INVALID_VALUE (EINVAL) for a negative size, INVALID_FILE_OPEN_FLAG (EBADF) if the file is not
     *         open for writing; with an errno where the kernel failed
     */
    public void truncate(long size) {
        RequestCheck request = new RequestCheck("ftruncate", file.path(), true, size, -1, 0);
        if (size < 0) {
            throw request.invalid("size is negative: " + size);
        }
        enter(request, ThreadState.current());
        try {
            checkRights(request);
            file.truncate(size);
        } finally {
            lifetime.exit();
        }
    }

    /** {@return true until {@link #close}} */
    public boolean isOpen() {
        return lifetime.isOpen();
    }

    /**
     * Waits for I/O in flight, then deregisters ({@code cuFileHandleDeregister}). Idempotent: any later or simultaneous call
     * returns when it is done. The file is closed with its last handle; while this process has a {@code FileLock} on it, it stays
     * open until a handle is opened or closed after the lock is gone, because closing a file drops the locks on it.
     *
     * @throws CuFileException IO_NOT_SUPPORTED (EBUSY), and nothing has changed, from inside I/O on this handle and while a
     *         batch has entries of it whose completion nobody has taken
     */
    @Override
    public void close() {
        lifetime.close("cuFileHandleDeregister");
    }

    Session session() {
        return use.session();
    }

    BackendFile file() {
        return file;
    }

    /** Begins a call of this thread that transfers between the file and {@code memory}; {@link #exit} ends it. */
    void enter(RequestCheck request, IoMemory memory) {
        ThreadState here = ThreadState.current();
        enter(request, here);
        boolean entered = false;
        try {
            checkRights(request);
            enterMemory(request, memory, here);
            entered = true;
        } finally {
            if (!entered) {
                lifetime.exit(here);
            }
        }
    }

    void exit(IoMemory memory) {
        ThreadState here = ThreadState.current();
        MemoryUse.exit(memory, here);
        lifetime.exit(here);
    }

    /** Begins a transfer that some thread ends later by {@link #unclaim}. */
    void claim(RequestCheck request, IoMemory memory) {
        if (!lifetime.claim()) {
            throw closed(request);
        }
        boolean claimed = false;
        try {
            checkRights(request);
            claimMemory(request, memory);
            claimed = true;
        } finally {
            if (!claimed) {
                lifetime.unclaim();
            }
        }
    }

    private void claimMemory(RequestCheck request, IoMemory memory) {
        try {
            MemoryUse.claim(session, memory);
        } catch (CuFileException e) {
            throw request.named(e);
        }
    }

    void unclaim(IoMemory memory) {
        MemoryUse.unclaim(memory);
        lifetime.unclaim();
    }

    private void enterMemory(RequestCheck request, IoMemory memory, ThreadState here) {
        try {
            MemoryUse.enter(session, memory, here);
        } catch (CuFileException e) {
            throw request.named(e);
        }
    }

    private void enter(String function, long size) {
        enter(new RequestCheck(function, file.path(), false, size, -1, 0), ThreadState.current());
    }

    private void enter(RequestCheck request, ThreadState here) {
        if (!lifetime.enter(here)) {
            throw closed(request);
        }
    }

    private CuFileException closed(RequestCheck request) {
        boolean driverOpen = session.isOpen();
        return request.failure(driverOpen ? CuFileError.HANDLE_NOT_REGISTERED : CuFileError.DRIVER_NOT_INITIALIZED)
                .detail(driverOpen ? "the handle is closed" : "the driver is closed")
                .build();
    }

    private void checkRights(RequestCheck request) {
        TransferArguments.checkAccessMode(
                request.function(), file, request.size(), request.fileOffset(), request.write());
    }

    @Override
    public String toString() {
        return "CuFileHandle[%s, %s]"
                .formatted(file.path().map(Path::toString).orElse("descriptor"), isOpen() ? "open" : "closed");
    }
}
