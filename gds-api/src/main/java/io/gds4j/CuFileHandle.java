package io.gds4j;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.lifetime.Lifetime;
import io.gds4j.internal.lifetime.ThreadState;
import io.gds4j.internal.registration.CachedRegistration;
import io.gds4j.internal.registration.RegistrationCache;
import io.gds4j.internal.trace.FlightEvents;
import io.gds4j.internal.trace.FlightEvents.Transfer;
import io.gds4j.memory.IoMemory;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.source.FileVersion;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.FileSource;
import io.gds4j.spi.Operation;
import io.gds4j.spi.TraceRanges;
import io.gds4j.spi.TracedOperation;
import io.gds4j.spi.TransferArguments;
import io.gds4j.statistics.IoPathReport;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A registered file ({@code cuFileHandleRegister}): reads it into memory and writes memory to it.
 *
 * <pre>{@code
 * long n = handle.read(memory, 1 << 20, 4096, 0);   // 1 MiB from file offset 4096 to the start of the memory
 * }</pre>
 *
 * <p>
 * Thread-safe: a handle has no position. Offsets and sizes are bytes. {@link #close} waits for I/O in flight.
 *
 * <p>
 * Virtual threads: platform threads of the driver carry out transfers of GPU memory, transfers through libcufile, futures and
 * prefetched reads. {@code read} and {@code write} of host memory by the compat backend run on the caller, and their system calls
 * hold its carrier; {@code readAsync(…).join()} does not. Opening a file and registering memory hold the carrier, too.
 *
 * <p>
 * After {@code close()} every method but {@link #path}, {@link #isOpen}, {@link #close} and {@link #toString} throws
 * HANDLE_NOT_REGISTERED; after the driver is closed, DRIVER_NOT_INITIALIZED.
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
     * Reads {@code size} bytes from the file into memory ({@code cuFileRead}): size first, then the offset in the file, then that in the
     * memory.
     *
     * @param memory receives the bytes
     * @param size bytes to read, 0 to 2^62
     * @param fileOffset first byte in the file
     * @param bufferOffset first byte in the memory
     * @return bytes read: {@code size}, or less at the end of the file (0 at or past it, never -1). Memory past this count is
     *         unchanged, unless another writer truncates the file during the call
     * @throws CuFileException INVALID_VALUE (EINVAL) for a negative or overflowing argument, CUDA_POINTER_RANGE_ERROR past
     *         the end of the memory, INVALID_MAPPING_RANGE past the end of a registered buffer, INVALID_FILE_OPEN_FLAG
     *         (EBADF) if the file is not open for reading, PERMISSION_DENIED for a read-only segment or a buffer or window
     *         without {@link BufferRight#READ_INTO}, CUDA_POINTER_INVALID if the memory or its arena is closed,
     *         MEMORY_NOT_REGISTERED if the buffer or window is closed or belongs to another session, HANDLE_NOT_REGISTERED
     *         after close; an errno if the kernel failed
     * @throws io.gds4j.error.CuFileInterruptedException if the thread is interrupted between pieces
     */
    public long read(IoMemory memory, long size, long fileOffset, long bufferOffset) {
        return transferNow(Operation.READ, MemoryUse.plain(memory), size, fileOffset, bufferOffset, null);
    }

    /**
     * Fills the whole memory from {@code fileOffset} ({@code cuFileRead}); see {@link #read(IoMemory, long, long, long)}.
     *
     * @param memory receives the bytes
     * @param fileOffset first byte in the file
     * @return bytes read; less than the memory holds only at the end of the file
     * @throws CuFileException as {@link #read(IoMemory, long, long, long)}
     */
    public long read(IoMemory memory, long fileOffset) {
        return read(memory, memory.range().length(), fileOffset, 0);
    }

    /**
     * Fills the whole memory from the start of the file; see {@link #read(IoMemory, long)}.
     *
     * @param memory receives the bytes
     * @return bytes read; less than the memory holds only if the file is shorter
     * @throws CuFileException as {@link #read(IoMemory, long)}
     */
    public long read(IoMemory memory) {
        return read(memory, 0);
    }

    /**
     * Fills a segment from {@code fileOffset}; see {@link #read(IoMemory, long, long, long)}. Wraps a native segment at each
     * call: a loop over one segment saves that with {@link MemoryRange#ofSegment(MemorySegment)}. A segment over a Java array is filled
     * in pieces of at most 1 MiB through native memory that is kept; statistics count each piece. If the read fails, only the first
     * {@link CuFileException#bytesTransferred()} bytes are changed.
     *
     * @param segment receives the bytes
     * @param fileOffset first byte in the file
     * @return bytes read; less than the segment holds only at the end of the file
     * @throws CuFileException as {@link #read(IoMemory, long, long, long)}; as {@link MemoryRange#ofSegment(MemorySegment)} for a
     *         native segment; NOMEM_ERROR if the JVM's limit of direct memory leaves too little for the copy
     */
    public long read(MemorySegment segment, long fileOffset) {
        return segment.isNative()
                ? read(wrap(Operation.READ, segment, fileOffset), fileOffset)
                : HeapCopies.transfer(this, Operation.READ, segment, fileOffset);
    }

    /**
     * Reads into a buffer, from its position to its limit, and advances the position by the bytes read. A heap buffer is
     * filled through a copy in native memory.
     *
     * @param buffer receives the bytes; no other thread uses it during the call
     * @param fileOffset first byte in the file
     * @return bytes read; less than the buffer's remaining bytes only at the end of the file (0 at or past it, never -1)
     * @throws CuFileException as {@link #read(MemorySegment, long)}: PERMISSION_DENIED for a read-only buffer. The position is
     *         unchanged then
     */
    public long read(ByteBuffer buffer, long fileOffset) {
        return advance(buffer, read(MemorySegment.ofBuffer(buffer), fileOffset));
    }

    /**
     * Reads into an array, through a copy in native memory.
     *
     * @param bytes receives the bytes; unchanged past their count, and past {@link CuFileException#bytesTransferred()} if the read fails
     * @param fileOffset first byte in the file
     * @return bytes read; less than the array holds only at the end of the file (0 at or past it, never -1)
     * @throws CuFileException as {@link #read(MemorySegment, long)}; NOMEM_ERROR if the JVM's limit of direct memory
     *         leaves too little for the copy
     */
    public long read(byte[] bytes, long fileOffset) {
        return read(MemorySegment.ofArray(bytes), fileOffset);
    }

    /**
     * Fills the whole memory from {@code fileOffset}, or throws.
     *
     * @param memory receives the bytes
     * @param fileOffset first byte in the file
     * @throws CuFileException IO_ERROR without an errno if the file ends before, with the count in
     *         {@link CuFileException#bytesTransferred()}; otherwise as {@link #read(IoMemory, long, long, long)}
     */
    public void readFully(IoMemory memory, long fileOffset) {
        requireAll(memory.range().length(), fileOffset, read(memory, fileOffset));
    }

    /**
     * Fills a segment from {@code fileOffset}, or throws; copies as {@link #read(MemorySegment, long)} does.
     *
     * @param segment receives the bytes
     * @param fileOffset first byte in the file
     * @throws CuFileException as {@link #readFully(IoMemory, long)} and {@link #read(MemorySegment, long)}
     */
    public void readFully(MemorySegment segment, long fileOffset) {
        requireAll(segment.byteSize(), fileOffset, read(segment, fileOffset));
    }

    /**
     * Fills a buffer from its position to its limit, or throws; copies as {@link #read(ByteBuffer, long)} does. The position advances by the bytes read in both cases.
     *
     * @param buffer receives the bytes; no other thread uses it during the call
     * @param fileOffset first byte in the file
     * @throws CuFileException as {@link #readFully(IoMemory, long)} and {@link #read(ByteBuffer, long)}
     */
    public void readFully(ByteBuffer buffer, long fileOffset) {
        requireAll(buffer.remaining(), fileOffset, read(buffer, fileOffset));
    }

    /**
     * Fills an array, through a copy in native memory, or throws.
     *
     * @param bytes receives the bytes
     * @param fileOffset first byte in the file
     * @throws CuFileException as {@link #readFully(MemorySegment, long)} and {@link #read(byte[], long)}
     */
    public void readFully(byte[] bytes, long fileOffset) {
        readFully(MemorySegment.ofArray(bytes), fileOffset);
    }

    /**
     * Reads a range of the file once and copies its parts to several destinations, such as memory of several GPUs. The parts of a
     * row-major matrix are rows with a pitch. Bytes of the range that no copy names count, read or not.
     *
     * @param fileOffset first byte in the file
     * @param length bytes to read, 0 to 2^62
     * @param copies rows of the range and their destinations, 1 or more; a byte of the file may have several destinations
     * @return bytes read: {@code length}, or less at the end of the file. Rows past this count are unchanged
     * @throws CuFileException INVALID_VALUE (EINVAL) for numbers out of range, for no copies, for a copy past {@code length}, and
     *         for destinations that overlap; destinations that interleave must have the same pitch. Otherwise as
     *         {@link #read(IoMemory, long, long, long)}
     * @throws io.gds4j.error.CuFileInterruptedException if the thread is interrupted between pieces
     */
    @Experimental
    public long readScattered(long fileOffset, long length, List<ScatterCopy> copies) {
        return RequestCall.scattered(this, Operation.READ, fileOffset, length, copies, null);
    }

    /**
     * As {@link #readScattered(long, long, List)}, and reports the request.
     *
     * @param fileOffset first byte in the file
     * @param length bytes to read, 0 to 2^62
     * @param copies rows of the range and their destinations, 1 or more
     * @param result receives the report, also of a failure
     * @return bytes read
     * @throws CuFileException as {@link #readScattered(long, long, List)}
     */
    @Experimental
    public long readScattered(long fileOffset, long length, List<ScatterCopy> copies, IoResult result) {
        return RequestCall.scattered(this, Operation.READ, fileOffset, length, copies,
                Objects.requireNonNull(result, "result"));
    }

    /**
     * Writes a range of the file from several fragments of memory, such as blocks of a cache all over the memory of a GPU: the mirror of
     * {@link #readScattered(long, long, List)}. The {@code destination} of a copy is the memory that its bytes come from.
     *
     * @param fileOffset first byte in the file; a gap after the end of the file reads as zeros
     * @param length bytes to write, 0 to 2^62
     * @param copies rows of the range and their memory, 1 or more; together they hold each byte of the range once. Fragments may overlap in
     *        memory
     * @return {@code length}
     * @throws CuFileException INVALID_VALUE (EINVAL) for numbers out of range, for no copies, and for copies that leave a byte of the range
     *         out, hold one twice or go past {@code length}. Otherwise as {@link #write(IoMemory, long, long, long)}
     * @throws io.gds4j.error.CuFileInterruptedException if the thread is interrupted between pieces
     */
    @Experimental
    public long writeScattered(long fileOffset, long length, List<ScatterCopy> copies) {
        return RequestCall.scattered(this, Operation.WRITE, fileOffset, length, copies, null);
    }

    /**
     * As {@link #writeScattered(long, long, List)}, and reports the request.
     *
     * @param fileOffset first byte in the file
     * @param length bytes to write, 0 to 2^62
     * @param copies rows of the range and their memory, 1 or more
     * @param result receives the report, also of a failure
     * @return {@code length}
     * @throws CuFileException as {@link #writeScattered(long, long, List)}
     */
    @Experimental
    public long writeScattered(long fileOffset, long length, List<ScatterCopy> copies, IoResult result) {
        return RequestCall.scattered(this, Operation.WRITE, fileOffset, length, copies,
                Objects.requireNonNull(result, "result"));
    }

    /**
     * As {@link #read(IoMemory, long, long, long)}, and reports the request.
     *
     * @param memory receives the bytes
     * @param size bytes to read, 0 to 2^62
     * @param fileOffset first byte in the file
     * @param bufferOffset first byte in the memory
     * @param result receives the report, also of a failure
     * @return bytes read
     * @throws CuFileException as {@link #read(IoMemory, long, long, long)}
     */
    @Experimental
    public long read(IoMemory memory, long size, long fileOffset, long bufferOffset, IoResult result) {
        return RequestCall.plain(this, Operation.READ, memory, size, fileOffset, bufferOffset, result);
    }

    /**
     * Fills the whole memory as {@link #read(IoMemory, long)}, and reports the request.
     *
     * @param memory receives the bytes
     * @param fileOffset first byte in the file
     * @param result receives the report, also of a failure
     * @return bytes read
     * @throws CuFileException as {@link #read(IoMemory, long, long, long, IoResult)}
     */
    @Experimental
    public long read(IoMemory memory, long fileOffset, IoResult result) {
        return read(memory, memory.range().length(), fileOffset, 0, result);
    }

    /**
     * Fills a segment as {@link #read(MemorySegment, long)}, and reports the request.
     *
     * @param segment receives the bytes
     * @param fileOffset first byte in the file
     * @param result receives the report, also of a failure
     * @return bytes read
     * @throws CuFileException as {@link #read(MemorySegment, long)}
     */
    @Experimental
    public long read(MemorySegment segment, long fileOffset, IoResult result) {
        if (!segment.isNative()) {
            return HeapCopies.read(this, segment, fileOffset, result);
        }
        MemoryRange memory = HeapCopies.reported(
                this, segment.byteSize(), fileOffset, result, () -> wrap(Operation.READ, segment, fileOffset));
        return read(memory, fileOffset, result);
    }

    /**
     * As {@link #write(IoMemory, long, long, long)}, and reports the request.
     *
     * @param memory holds the bytes
     * @param size bytes to write, 0 to 2^62
     * @param fileOffset first byte in the file
     * @param bufferOffset first byte in the memory
     * @param result receives the report, also of a failure
     * @return {@code size}
     * @throws CuFileException as {@link #write(IoMemory, long, long, long)}
     */
    @Experimental
    public long write(IoMemory memory, long size, long fileOffset, long bufferOffset, IoResult result) {
        return RequestCall.plain(this, Operation.WRITE, memory, size, fileOffset, bufferOffset, result);
    }

    /**
     * Writes the whole memory as {@link #write(IoMemory, long)}, and reports the request.
     *
     * @param memory holds the bytes
     * @param fileOffset first byte in the file
     * @param result receives the report, also of a failure
     * @return bytes written: all that the memory holds
     * @throws CuFileException as {@link #write(IoMemory, long, long, long, IoResult)}
     */
    @Experimental
    public long write(IoMemory memory, long fileOffset, IoResult result) {
        return write(memory, memory.range().length(), fileOffset, 0, result);
    }

    /**
     * Writes {@code size} bytes of memory to the file ({@code cuFileWrite}): size first, then the offset in the file, then that in the
     * memory. Writes all of them, or throws an exception that tells how many.
     *
     * @param memory holds the bytes
     * @param size bytes to write, 0 to 2^62; 0 never extends the file
     * @param fileOffset first byte in the file; a gap after the end of the file reads as zeros
     * @param bufferOffset first byte in the memory
     * @return {@code size}
     * @throws CuFileException as {@link #read(IoMemory, long, long, long)} does; INVALID_FILE_OPEN_FLAG (EBADF) if the file is
     *         not open for writing, PERMISSION_DENIED without {@link BufferRight#WRITE_FROM}; ENOSPC, EDQUOT, EFBIG or EIO if
     *         the kernel says so, with the contiguous count in {@link CuFileException#bytesTransferred()}
     * @throws io.gds4j.error.CuFileInterruptedException if the thread is interrupted between pieces
     */
    public long write(IoMemory memory, long size, long fileOffset, long bufferOffset) {
        return transferNow(Operation.WRITE, MemoryUse.plain(memory), size, fileOffset, bufferOffset, null);
    }

    /**
     * Writes the whole memory at {@code fileOffset} ({@code cuFileWrite}); see {@link #write(IoMemory, long, long, long)}.
     *
     * @param memory holds the bytes
     * @param fileOffset first byte in the file
     * @return bytes written: all that the memory holds
     * @throws CuFileException as {@link #write(IoMemory, long, long, long)}
     */
    public long write(IoMemory memory, long fileOffset) {
        return write(memory, memory.range().length(), fileOffset, 0);
    }

    /**
     * Writes the whole memory to the start of the file; see {@link #write(IoMemory, long)}.
     *
     * @param memory holds the bytes
     * @return bytes written: all that the memory holds
     * @throws CuFileException as {@link #write(IoMemory, long)}
     */
    public long write(IoMemory memory) {
        return write(memory, 0);
    }

    /**
     * Writes a segment at {@code fileOffset}; see {@link #write(IoMemory, long, long, long)}. Copies a segment over a Java array into
     * native memory first.
     *
     * @param segment holds the bytes
     * @param fileOffset first byte in the file
     * @return bytes written: all that the segment holds
     * @throws CuFileException as {@link #write(IoMemory, long, long, long)}; as
     *         {@link MemoryRange#ofSegment(MemorySegment)} for a native segment; NOMEM_ERROR as {@link #read(MemorySegment, long)}
     */
    public long write(MemorySegment segment, long fileOffset) {
        return segment.isNative()
                ? write(wrap(Operation.WRITE, segment, fileOffset), fileOffset)
                : HeapCopies.transfer(this, Operation.WRITE, segment, fileOffset);
    }

    /**
     * Writes a buffer, from its position to its limit, and advances the position to the limit. Copies a heap buffer into native memory
     * first.
     *
     * @param buffer holds the bytes; no other thread uses it during the call
     * @param fileOffset first byte in the file
     * @return bytes written: all that remained in the buffer
     * @throws CuFileException as {@link #write(MemorySegment, long)}. The position is unchanged then
     */
    public long write(ByteBuffer buffer, long fileOffset) {
        return advance(buffer, write(MemorySegment.ofBuffer(buffer), fileOffset));
    }

    /**
     * Writes an array, through a copy in native memory.
     *
     * @param bytes holds the bytes; no other thread changes it during the call
     * @param fileOffset first byte in the file
     * @return bytes written: all of the array
     * @throws CuFileException as {@link #write(MemorySegment, long)}; NOMEM_ERROR as {@link #read(byte[], long)}
     */
    public long write(byte[] bytes, long fileOffset) {
        return write(MemorySegment.ofArray(bytes), fileOffset);
    }

    /**
     * Starts {@link #read(IoMemory, long, long, long)} on a platform thread of the driver and returns at once. Closing the file,
     * the memory or the driver waits for it. An {@link IoResult} {@linkplain #readAsync(IoMemory, long, long, long, IoResult) tells the
     * I/O path}.
     *
     * @param memory receives the bytes: an allocation, a registered buffer over one, or a segment of the global or an automatic
     *        arena; the call keeps it reachable
     * @param size bytes to read, 0 to 2^62
     * @param fileOffset first byte in the file
     * @param bufferOffset first byte in the memory
     * @return completes with the bytes read, or with what {@code read} throws. Cancelling prevents a read that has not begun;
     *         another ends after the pieces in flight, which may still fill the memory
     * @throws CuFileException for invalid arguments as {@code read}; CUDA_MEMORY_TYPE_INVALID for a segment of a confined or
     *         shared arena, which could be closed during the call
     */
    @Experimental
    public CompletableFuture<Long> readAsync(IoMemory memory, long size, long fileOffset, long bufferOffset) {
        return start(Operation.READ, MemoryUse.plain(memory), size, fileOffset, bufferOffset);
    }

    /**
     * Starts {@link #read(IoMemory, long)} as {@link #readAsync(IoMemory, long, long, long)} does.
     *
     * @param memory receives the bytes
     * @param fileOffset first byte in the file
     * @return completes with the bytes read; less than the memory holds only at the end of the file
     * @throws CuFileException as {@link #readAsync(IoMemory, long, long, long)}
     */
    @Experimental
    public CompletableFuture<Long> readAsync(IoMemory memory, long fileOffset) {
        return readAsync(memory, memory.range().length(), fileOffset, 0);
    }

    /**
     * Starts {@link #read(MemorySegment, long)} on a platform thread of the driver and returns at once. A segment over a Java array is
     * filled in pieces, as there, before the future completes.
     *
     * @param segment receives the bytes: over a Java array, or native memory of the global or an automatic arena
     * @param fileOffset first byte in the file
     * @return completes with the bytes read, or with what {@code read} throws. Cancelling works as that of
     *         {@link #readAsync(IoMemory, long, long, long)}
     * @throws CuFileException as {@link #readAsync(IoMemory, long, long, long)}; PERMISSION_DENIED for a read-only segment
     */
    @Experimental
    public CompletableFuture<Long> readAsync(MemorySegment segment, long fileOffset) {
        return HeapCopies.async(this, Operation.READ, segment, fileOffset, _ -> {});
    }

    /**
     * Starts {@link #read(ByteBuffer, long)} on a platform thread of the driver and returns at once. The position advances by the bytes read
     * before the future completes.
     *
     * @param buffer receives the bytes, from its position to its limit; no other thread uses it until the future completes
     * @param fileOffset first byte in the file
     * @return completes with the bytes read (0 at the end of the file or past it, never -1), or with what {@code read} throws; the position
     *         is unchanged then
     * @throws CuFileException as {@link #readAsync(MemorySegment, long)}
     */
    @Experimental
    public CompletableFuture<Long> readAsync(ByteBuffer buffer, long fileOffset) {
        return HeapCopies.async(
                this, Operation.READ, MemorySegment.ofBuffer(buffer), fileOffset, bytes -> advance(buffer, bytes));
    }

    /**
     * As {@link #readAsync(IoMemory, long, long, long)}, and reports the request.
     *
     * @param memory receives the bytes
     * @param size bytes to read, 0 to 2^62
     * @param fileOffset first byte in the file
     * @param bufferOffset first byte in the memory
     * @param result receives the report before the future completes, also of a failure; of a cancelled future, once its request has ended
     * @return completes with the bytes read, or with what {@code read} throws
     * @throws CuFileException as {@link #readAsync(IoMemory, long, long, long)}; INVALID_VALUE if another request fills the
     *         report
     */
    @Experimental
    public CompletableFuture<Long> readAsync(
            IoMemory memory, long size, long fileOffset, long bufferOffset, IoResult result) {
        return RequestCall.async(this, Operation.READ, memory, size, fileOffset, bufferOffset, result);
    }

    /**
     * Starts {@link #write(IoMemory, long, long, long)} on a platform thread of the driver and returns at once. Closing the file,
     * the memory or the driver waits for it.
     *
     * @param memory holds the bytes; memory as of {@link #readAsync(IoMemory, long, long, long)}
     * @param size bytes to write, 0 to 2^62
     * @param fileOffset first byte in the file
     * @param bufferOffset first byte in the memory
     * @return completes with {@code size}, or with what {@code write} throws; cancelling as of {@code readAsync}
     * @throws CuFileException for invalid arguments as {@code write}; CUDA_MEMORY_TYPE_INVALID as {@code readAsync}
     */
    @Experimental
    public CompletableFuture<Long> writeAsync(IoMemory memory, long size, long fileOffset, long bufferOffset) {
        return start(Operation.WRITE, MemoryUse.plain(memory), size, fileOffset, bufferOffset);
    }

    /**
     * Starts {@link #write(IoMemory, long)} as {@link #writeAsync(IoMemory, long, long, long)} does.
     *
     * @param memory holds the bytes
     * @param fileOffset first byte in the file
     * @return completes with the bytes written: all that the memory holds
     * @throws CuFileException as {@link #writeAsync(IoMemory, long, long, long)}
     */
    @Experimental
    public CompletableFuture<Long> writeAsync(IoMemory memory, long fileOffset) {
        return writeAsync(memory, memory.range().length(), fileOffset, 0);
    }

    /**
     * Starts {@link #write(MemorySegment, long)} on a platform thread of the driver and returns at once. A segment over a Java array is
     * copied in pieces, as there, until the future completes: do not change it before.
     *
     * @param segment holds the bytes: over a Java array, or native memory of the global or an automatic arena
     * @param fileOffset first byte in the file
     * @return completes with the bytes written: all of the segment
     * @throws CuFileException as {@link #writeAsync(IoMemory, long, long, long)}
     */
    @Experimental
    public CompletableFuture<Long> writeAsync(MemorySegment segment, long fileOffset) {
        return HeapCopies.async(this, Operation.WRITE, segment, fileOffset, _ -> {});
    }

    /**
     * Starts {@link #write(ByteBuffer, long)} on a platform thread of the driver and returns at once. The position advances to the limit
     * before the future completes.
     *
     * @param buffer holds the bytes, from its position to its limit; no other thread uses it until the future completes
     * @param fileOffset first byte in the file
     * @return completes with the bytes written, or with what {@code write} throws; the position is unchanged then
     * @throws CuFileException as {@link #writeAsync(MemorySegment, long)}
     */
    @Experimental
    public CompletableFuture<Long> writeAsync(ByteBuffer buffer, long fileOffset) {
        return HeapCopies.async(
                this, Operation.WRITE, MemorySegment.ofBuffer(buffer), fileOffset, bytes -> advance(buffer, bytes));
    }

    /**
     * As {@link #writeAsync(IoMemory, long, long, long)}, and reports the request.
     *
     * @param memory holds the bytes
     * @param size bytes to write, 0 to 2^62
     * @param fileOffset first byte in the file
     * @param bufferOffset first byte in the memory
     * @param result receives the report, as of {@link #readAsync}
     * @return completes with {@code size}, or with what {@code write} throws
     * @throws CuFileException as {@link #writeAsync(IoMemory, long, long, long)}; INVALID_VALUE if another request fills the
     *         report
     */
    @Experimental
    public CompletableFuture<Long> writeAsync(
            IoMemory memory, long size, long fileOffset, long bufferOffset, IoResult result) {
        return RequestCall.async(this, Operation.WRITE, memory, size, fileOffset, bufferOffset, result);
    }

    MemoryRange wrap(Operation operation, MemorySegment segment, long fileOffset) {
        try {
            return MemoryRange.ofSegment(segment);
        } catch (CuFileException e) {
            throw request(operation, segment.byteSize(), fileOffset, 0).wrap(e);
        }
    }

    private static long advance(ByteBuffer buffer, long bytes) {
        buffer.position(buffer.position() + (int) bytes);
        return bytes;
    }

    private void requireAll(long size, long fileOffset, long bytes) {
        if (bytes < size) {
            throw CuFileException.builder("cuFileRead")
                    .error(CuFileError.IO_ERROR)
                    .path(file.path())
                    .range(fileOffset, size)
                    .transferred(bytes)
                    .detail("the file ends before the memory is full")
                    .build();
        }
    }

    /**
     * Transfers on this thread. Allocates nothing unless it fails: only a failure needs a {@link RequestCheck}.
     *
     * @param heap what the memory is a copy of, piece by piece; null if the program named the memory
     */
    long transferNow(
            Operation operation, IoMemory memory, long size, long fileOffset, long bufferOffset,
            @Nullable MemorySegment heap) {
        if (heap == null && !RequestCheck.isWithin(memory, operation, size, fileOffset, bufferOffset)) {
            request(operation, size, fileOffset, bufferOffset).checkWithin(memory);
        }
        ThreadState here = ThreadState.current();
        if (!lifetime.enter(here)) {
            throw closed(request(operation, size, fileOffset, bufferOffset));
        }
        boolean entered = false;
        try {
            if (operation.isWrite() ? !file.isWritable() : !file.isReadable()) {
                checkRights(request(operation, size, fileOffset, bufferOffset));
            }
            try {
                MemoryUse.enter(session, memory, here);
            } catch (CuFileException e) {
                throw request(operation, size, fileOffset, bufferOffset).wrap(e);
            }
            entered = true;
            return heap == null
                    ? transfer(operation, memory, size, fileOffset, bufferOffset)
                    : HeapCopies.pieces(this, operation, memory.range(), heap, fileOffset, null);
        } finally {
            if (entered) {
                MemoryUse.exit(memory, here);
            }
            lifetime.exit(here);
        }
    }

    RequestCheck request(Operation operation, long size, long fileOffset, long bufferOffset) {
        return new RequestCheck(operation, file.path(), size, fileOffset, bufferOffset);
    }

    /** Moves the bytes. The caller has entered or holds file and memory. */
    long transfer(Operation operation, IoMemory memory, long size, long fileOffset, long bufferOffset) {
        RegistrationCache cache = session.cache();
        if (cache == null || !(memory instanceof MemoryRange range)) {
            long start = MemoryUse.start(memory) + bufferOffset;
            return transfer(operation, MemoryUse.base(memory), size, fileOffset, start);
        }
        CachedRegistration registration = cache.use(range);
        if (registration == null) {
            return transfer(operation, range, size, fileOffset, bufferOffset);
        }
        try {
            MemoryRange whole = registration.whole();
            return transfer(
                    operation, whole, size, fileOffset, range.address() - whole.address() + bufferOffset);
        } finally {
            registration.exit();
            Reference.reachabilityFence(range);
        }
    }

    private long transfer(Operation operation, MemoryRange base, long size, long fileOffset, long offset) {
        Transfer event = FlightEvents.transfer(operation);
        long range = beginRange(operation, size);
        CuFileBackend backend = session.backend();
        long moved = 0;
        try {
            moved = operation.isWrite()
                    ? backend.write(file, base, size, fileOffset, offset)
                    : backend.read(file, base, size, fileOffset, offset);
            return moved;
        } catch (CuFileException e) {
            moved = e.bytesTransferred();
            throw request(operation, size, fileOffset, offset).named(e);
        } finally {
            endRange(range);
            if (event != null) {
                event.record(file, fileOffset, size, moved);
            }
        }
    }

    /** Begins the range of a request in a profiler; returns 0 without one. */
    long beginRange(Operation operation, long size) {
        return TraceRanges.ACTIVE
                ? TraceRanges.begin(operation.isWrite() ? TracedOperation.WRITE : TracedOperation.READ,
                        file.ioPath().path(), size)
                : 0;
    }

    void endRange(long range) {
        if (TraceRanges.ACTIVE) {
            TraceRanges.end(range);
        }
    }

    private CompletableFuture<Long> start(
            Operation operation, IoMemory memory, long size, long fileOffset, long bufferOffset) {
        RequestCheck request = request(operation, size, fileOffset, bufferOffset);
        request.checkWithin(memory);
        return start(request, List.of(memory), () -> transfer(operation, memory, size, fileOffset, bufferOffset));
    }

    /** Starts a transfer on a thread of the driver, which holds file and memory until it is over. */
    CompletableFuture<Long> start(RequestCheck request, List<IoMemory> memory, LongSupplier transfer) {
        return start(request, memory, () -> letGo(memory), transfer);
    }

    /**
     * Starts a transfer on a thread of the driver, which holds file and memory.
     *
     * @param request whose arguments are checked
     * @param release lets go of both; runs also if the transfer never does
     */
    CompletableFuture<Long> start(
            RequestCheck request, List<IoMemory> memory, Runnable release, LongSupplier transfer) {
        // Allocated before the call holds anything: the heap may be exhausted.
        AsyncCalls calls = session.asyncCalls();
        AsyncCalls.Call call = calls.call(release, transfer);
        hold(request, memory);
        boolean started = false;
        try {
            calls.start(call, request.function());
            started = true;
            return call;
        } finally {
            if (!started) {
                letGo(memory);
            }
        }
    }

    /** Holds file and memory for threads of the driver; {@link #letGo} follows. */
    void hold(RequestCheck request, List<IoMemory> memory) {
        if (!lifetime.hold()) {
            throw closed(request);
        }
        int held = 0;
        boolean complete = false;
        try {
            checkRights(request);
            for (; held < memory.size(); held++) {
                holdMemory(request, memory.get(held));
            }
            complete = true;
        } finally {
            if (!complete) {
                letGo(memory, held);
            }
        }
    }

    private void holdMemory(RequestCheck request, IoMemory memory) {
        try {
            MemoryUse.hold(session, memory);
        } catch (CuFileException e) {
            throw request.wrap(e);
        }
    }

    void letGo(List<IoMemory> memory) {
        letGo(memory, memory.size());
    }

    private void letGo(List<IoMemory> memory, int held) {
        for (int i = 0; i < held; i++) {
            MemoryUse.letGo(memory.get(i));
        }
        lifetime.letGo();
    }

    /**
     * Reads consecutive bytes of the file into several memory ranges ({@code cuFileReadv} of cuFile 1.19).
     *
     * @param ranges the memory, in the order of the file; 2^62 bytes or less in total
     * @param fileOffset first byte in the file
     * @return bytes read; less than the ranges hold only at the end of the file
     * @throws CuFileException as {@link #read(IoMemory, long, long, long)} does; IO_NOT_SUPPORTED if a backend that is
     *         not gds4j's lacks the function
     */
    @Experimental
    public long readv(List<MemoryRange> ranges, long fileOffset) {
        return vectored(Operation.VECTOR_READ, ranges, fileOffset);
    }

    /**
     * Writes several memory ranges to consecutive bytes of the file ({@code cuFileWritev} of cuFile 1.19).
     *
     * @param ranges the memory, in the order of the file; 2^62 bytes or less in total
     * @param fileOffset first byte in the file
     * @return bytes written: all that the ranges hold
     * @throws CuFileException as {@link #write(IoMemory, long, long, long)} does; IO_NOT_SUPPORTED if a backend that is
     *         not gds4j's lacks the function
     */
    @Experimental
    public long writev(List<MemoryRange> ranges, long fileOffset) {
        return vectored(Operation.VECTOR_WRITE, ranges, fileOffset);
    }

    private long vectored(Operation operation, List<MemoryRange> ranges, long fileOffset) {
        List<MemoryRange> copy = List.copyOf(ranges);
        RequestCheck request =
                new RequestCheck(operation, file.path(), TransferArguments.total(copy), fileOffset, 0);
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
            return vectored(operation, copy, fileOffset, request.size());
        } catch (CuFileException e) {
            throw request.named(e);
        } finally {
            copy.subList(0, held).reversed().forEach(range -> MemoryUse.exit(range, here));
            lifetime.exit(here);
        }
    }

    private long vectored(Operation operation, List<MemoryRange> ranges, long fileOffset, long size) {
        long range = beginRange(operation, size);
        try {
            CuFileBackend backend = session.backend();
            return operation.isWrite()
                    ? backend.writev(file, ranges, fileOffset, 0)
                    : backend.readv(file, ranges, fileOffset, 0);
        } finally {
            endRange(range);
        }
    }

    /**
     * Returns a channel over this file, for code that takes channels or streams:
     *
     * <pre>{@code
     * InputStream in = Channels.newInputStream(handle.asChannel());
     * }</pre>
     *
     * <p>
     * Each channel has a position of its own, which begins at 0, and serves one call at a time. It reads and writes as this handle may, into
     * and from direct and heap buffers. Closing it leaves the handle open, and does not wait for a call of another thread, which ends as if
     * the channel were open; once the handle is closed, so is the channel. A read at the end of the file or past it returns -1. A write
     * past the end leaves a gap of zeros. Failures are IOExceptions whose cause is the {@link CuFileException}; then the position of channel
     * and buffer is unchanged. An interrupt is an InterruptedIOException and closes nothing.
     *
     * @return a new channel
     */
    @Experimental
    public SeekableByteChannel asChannel() {
        return new HandleChannel(this);
    }

    /** {@return name of the file at registration; empty if the kernel knows none} */
    public Optional<Path> path() {
        return file.path();
    }

    /**
     * Returns the current size of the file, or the capacity of a block device.
     *
     * @return bytes
     * @throws CuFileException HANDLE_NOT_REGISTERED after close; an errno if the kernel failed
     */
    public long size() {
        try (Lifetime.Call _ = begin("fstat")) {
            return file.size();
        }
    }

    /**
     * Returns the version of the content now ({@code fstat} of the open file): another file of the same name does not change it.
     *
     * @return the version; where the backend knows no more, only the size
     * @throws CuFileException HANDLE_NOT_REGISTERED after close; an errno if the kernel failed
     */
    public FileVersion version() {
        try (Lifetime.Call _ = begin("fstat")) {
            return file.version();
        }
    }

    /**
     * Returns the path that an aligned request on this file takes now, and why.
     *
     * @return path and reason
     * @throws CuFileException HANDLE_NOT_REGISTERED after close
     */
    public IoPathReport ioPath() {
        try (Lifetime.Call _ = begin("ioPath")) {
            return file.ioPath();
        }
    }

    /**
     * Returns whether a read of these bytes now is likely to wait for a disk or a server. Submit several reads as a batch then; cached bytes
     * arrive sooner by single reads. Asks the page cache and moves no byte; true where nothing is known about the file.
     *
     * @param fileOffset first byte in the file
     * @param size bytes, 0 or more
     * @return whether to have several reads in flight
     * @throws CuFileException HANDLE_NOT_REGISTERED after close; INVALID_VALUE (EINVAL) for a negative number
     */
    @Experimental
    public boolean waitsForDisk(long fileOffset, long size) {
        if (fileOffset < 0 || size < 0) {
            throw Failures.invalid("waitsForDisk",
                    "file offset %s, size %s, allowed: 0 or more".formatted(fileOffset, size));
        }
        try (Lifetime.Call _ = begin("waitsForDisk")) {
            return session.backend().waitsForDisk(file, fileOffset, size);
        }
    }

    /**
     * Makes durable what was written before this call: it survives a crash of the program, of the kernel and of the power. The name of
     * a new file does so once its folder is forced, too, which is the program's affair.
     *
     * <p>
     * After a failure with EIO, ENOSPC or EDQUOT the kernel may have dropped written bytes, and the file counts as lost: later calls on handles of the same
     * open file fail, too. Write the bytes again to a new file.
     *
     * @param metadata true to include times and other metadata ({@code fsync}), false for data and size ({@code fdatasync})
     * @throws CuFileException HANDLE_NOT_REGISTERED after close; an errno if the kernel failed
     */
    public void force(boolean metadata) {
        try (Lifetime.Call _ = begin(metadata ? "fsync" : "fdatasync")) {
            file.force(metadata);
        }
    }

    /**
     * Makes durable what was written before this call, with times and other metadata.
     *
     * @throws CuFileException as {@link #force(boolean)}
     */
    public void force() {
        force(true);
    }

    /**
     * Sets the file's size ({@code ftruncate}): cuts it, or adds a hole that reads as zeros.
     *
     * @param size bytes, 0 or more
     * @throws CuFileException INVALID_VALUE (EINVAL) for a negative size, INVALID_FILE_OPEN_FLAG (EBADF) if the file is not
     *         open for writing, HANDLE_NOT_REGISTERED after close; an errno if the kernel failed
     */
    public void truncate(long size) {
        RequestCheck request = new RequestCheck("ftruncate", file.path(), Operation.WRITE, size, -1, 0);
        if (size < 0) {
            throw request.invalid("size is negative: " + size);
        }
        try (Lifetime.Call _ = begin(request)) {
            checkRights(request);
            file.truncate(size);
        }
    }

    /**
     * Reserves disk space for the first {@code size} bytes ({@code fallocate}): later writes there do not fail because the disk
     * is full. Extends a shorter file to that size; new bytes read as zeros.
     *
     * @param size bytes, 0 or more; 0 does nothing
     * @return false if the file system cannot reserve; the file has the size all the same
     * @throws CuFileException INVALID_VALUE (EINVAL) for a negative size, INVALID_FILE_OPEN_FLAG (EBADF) if the file is not
     *         open for writing, HANDLE_NOT_REGISTERED after close; ENOSPC, EDQUOT, EFBIG or EIO if the kernel says so
     */
    public boolean reserve(long size) {
        RequestCheck request = new RequestCheck("fallocate", file.path(), Operation.WRITE, size, -1, 0);
        if (size < 0) {
            throw request.invalid("size is negative: " + size);
        }
        try (Lifetime.Call _ = begin(request)) {
            checkRights(request);
            return size == 0 || file.reserve(size);
        }
    }

    /** {@return true until {@link #close}} */
    public boolean isOpen() {
        return lifetime.isOpen();
    }

    /**
     * Waits for I/O in flight, then deregisters ({@code cuFileHandleDeregister}). Idempotent; concurrent and later calls wait
     * until it is done. The last handle of a file closes the file. If this process has a {@code FileLock} on it, the file stays
     * open until another handle is opened or closed after the lock is gone: closing a file drops the locks on it.
     *
     * @throws CuFileException IO_NOT_SUPPORTED (EBUSY) from inside I/O on this handle, and while a batch has entries of it
     *         whose completion no caller has taken; nothing changes. With the errno of the kernel (EIO, ENOSPC, EDQUOT) where a
     *         network file system could not store what was written and not forced; the handle is closed then
     */
    @Override
    public void close() {
        lifetime.close(this, "cuFileHandleDeregister");
    }

    Session session() {
        return use.session();
    }

    BackendFile file() {
        return file;
    }

    /** Begins a transfer of this thread between the file and {@code memory}; {@link #exit} ends it. */
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
        exit(here);
    }

    void exit(ThreadState here) {
        lifetime.exit(here);
    }

    /** Begins a transfer that {@link #unclaim} ends later, on any thread. */
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
            throw request.wrap(e);
        }
    }

    void unclaim(IoMemory memory) {
        MemoryUse.unclaim(memory);
        lifetime.unclaim();
    }

    void enterMemory(RequestCheck request, IoMemory memory, ThreadState here) {
        try {
            MemoryUse.enter(session, memory, here);
        } catch (CuFileException e) {
            throw request.wrap(e);
        }
    }

    private Lifetime.Call begin(String function) {
        return begin(new RequestCheck(function, file.path(), Operation.READ, -1, -1, 0));
    }

    private Lifetime.Call begin(RequestCheck request) {
        return lifetime.begin(() -> closed(request));
    }

    void enter(RequestCheck request, ThreadState here) {
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

    void checkRights(RequestCheck request) {
        TransferArguments.checkAccessMode(
                request.function(), file, request.size(), request.fileOffset(), request.operation());
    }

    @Override
    public String toString() {
        return "CuFileHandle[%s, %s]"
                .formatted(file.path().map(Path::toString).orElse("descriptor"), isOpen() ? "open" : "closed");
    }
}
