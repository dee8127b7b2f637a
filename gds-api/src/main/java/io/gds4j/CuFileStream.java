package io.gds4j;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.internal.lifetime.Lifetime;
import io.gds4j.memory.IoMemory;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.Operation;
import io.gds4j.spi.ResultSink;
import io.gds4j.spi.StreamRequest;
import io.gds4j.spi.TraceRanges;
import io.gds4j.spi.TracedOperation;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * A registered CUDA stream or {@link HostStream}: reads and writes files in stream order ({@code cuFileReadAsync},
 * {@code cuFileWriteAsync}).
 *
 * <pre>{@code
 * try (CuFileStream stream = driver.stream(rawStream, Set.of(StreamFlag.FIXED_FILE_SIZE))) {
 *     CuFileStream.Cells cells = stream.read(handle, memory, 0);
 *     launch(rawStream);                       // the read returned at once; the kernel sees its bytes
 *     stream.synchronize();
 *     long bytes = cells.bytesDone();
 * }
 * }</pre>
 *
 * <p>
 * Thread-safe. An operation uses file and memory until the stream has passed it; closing them waits for that.
 *
 * <p>
 * A stream holds up to 128 unfinished operations of any size. The call that queues the next one waits for room. Do not queue more behind
 * work that only the calling thread can release. An operation takes up to four of the 1024 entries of CUDA's own queue for the stream.
 *
 * <p>
 * {@code CuFileDriver.allocator()} allocates, pins and frees while no CUDA stream waits for a transfer: CUDA would wait for the
 * stream, and the transfer for CUDA. So an allocation waits for the operations in flight, and operations that other threads queue meanwhile
 * wait for the allocation, at most 30 seconds. While CUDA streams are registered, the CPU copies managed memory, because copies by the
 * driver wait for waiting streams. If the GPU does not allow the CPU such access, the operation fails with ASYNC_NOT_SUPPORTED.
 *
 * @since 0.1
 */
@Experimental
public final class CuFileStream implements AutoCloseable {
    private static final String SYNCHRONIZE = "cuStreamSynchronize";
    private static final long CELL_BYTES = 8;

    /** Most bytes of a file range with fragments: it is served in parts, whose number is an int. */
    private static final long MAX_SCATTERED = 1L << 50;

    private final SessionUse use;
    private final long stream;
    private final Lifetime lifetime;

    private CuFileStream(SessionUse use, long stream) {
        this.use = use;
        this.stream = stream;
        CuFileBackend backend = use.session().backend();
        this.lifetime = use.session()
                .adopt(
                        Session.Role.FEEDER,
                        this,
                        "CuFileStream 0x%x".formatted(stream),
                        () -> backend.streamDeregister(stream));
    }

    static CuFileStream register(SessionUse use, long stream, int flags) {
        return use.session().call("cuFileStreamRegister", backend -> {
            backend.streamRegister(stream, flags);
            return new CuFileStream(use, stream);
        });
    }

    /** {@return raw {@code CUstream}, or the address of a {@link HostStream}} */
    public long address() {
        return stream;
    }

    /**
     * Queues a read ({@code cuFileReadAsync}).
     *
     * @param handle the file
     * @param memory receives the bytes
     * @param cells arguments and result, in host memory that outlives the operation
     * @throws CuFileException if the submission fails: INVALID_VALUE if the stream is closed, HANDLE_NOT_REGISTERED,
     *         INVALID_FILE_OPEN_FLAG, PERMISSION_DENIED, CUDA_POINTER_INVALID or MEMORY_NOT_REGISTERED as
     *         {@link CuFileHandle#read(IoMemory, long, long, long)}, CUDA_MEMORY_TYPE_INVALID for a segment of a confined or
     *         shared arena, ASYNC_NOT_SUPPORTED without parallel I/O. A later failure is reported in {@link Cells#bytesDone}
     */
    public void read(CuFileHandle handle, IoMemory memory, Cells cells) {
        submit(Operation.STREAM_READ, handle, memory, cells, ResultSink.NONE);
    }

    /**
     * Queues a write ({@code cuFileWriteAsync}).
     *
     * @param handle the file
     * @param memory holds the bytes
     * @param cells arguments and result, in host memory that outlives the operation
     * @throws CuFileException as {@link #read(CuFileHandle, IoMemory, Cells)}
     */
    public void write(CuFileHandle handle, IoMemory memory, Cells cells) {
        submit(Operation.STREAM_WRITE, handle, memory, cells, ResultSink.NONE);
    }

    /**
     * As {@link #read(CuFileHandle, IoMemory, Cells)}, and reports the operation.
     *
     * @param handle the file
     * @param memory receives the bytes
     * @param cells arguments and result, in host memory that outlives the operation
     * @param result receives the report, also of a failure, before the stream passes the operation
     * @throws CuFileException as {@link #read(CuFileHandle, IoMemory, Cells)}; INVALID_VALUE if another request fills the report
     */
    public void read(CuFileHandle handle, IoMemory memory, Cells cells, IoResult result) {
        reported(Operation.STREAM_READ, handle, memory, cells, result);
    }

    /**
     * As {@link #write(CuFileHandle, IoMemory, Cells)}, and reports the operation.
     *
     * @param handle the file
     * @param memory holds the bytes
     * @param cells arguments and result, in host memory that outlives the operation
     * @param result receives the report, as of {@link #read(CuFileHandle, IoMemory, Cells, IoResult)}
     * @throws CuFileException as {@link #read(CuFileHandle, IoMemory, Cells, IoResult)}
     */
    public void write(CuFileHandle handle, IoMemory memory, Cells cells, IoResult result) {
        reported(Operation.STREAM_WRITE, handle, memory, cells, result);
    }

    /**
     * As {@link #read(CuFileHandle, IoMemory, long, long, long)}, and reports the operation.
     *
     * @param handle the file
     * @param memory receives the bytes
     * @param size bytes to read, 0 to 2^62
     * @param fileOffset first byte in the file
     * @param bufferOffset first byte in the memory
     * @param result receives the report, as of {@link #read(CuFileHandle, IoMemory, Cells, IoResult)}
     * @return the cells of the operation
     * @throws CuFileException as {@link #read(CuFileHandle, IoMemory, Cells, IoResult)}
     */
    public Cells read(
            CuFileHandle handle, IoMemory memory, long size, long fileOffset, long bufferOffset, IoResult result) {
        Cells cells = Cells.of(size, fileOffset, bufferOffset);
        read(handle, memory, cells, result);
        return cells;
    }

    /**
     * As {@link #write(CuFileHandle, IoMemory, long, long, long)}, and reports the operation.
     *
     * @param handle the file
     * @param memory holds the bytes
     * @param size bytes to write, 0 to 2^62
     * @param fileOffset first byte in the file
     * @param bufferOffset first byte in the memory
     * @param result receives the report, as of {@link #read(CuFileHandle, IoMemory, Cells, IoResult)}
     * @return the cells of the operation
     * @throws CuFileException as {@link #read(CuFileHandle, IoMemory, Cells, IoResult)}
     */
    public Cells write(
            CuFileHandle handle, IoMemory memory, long size, long fileOffset, long bufferOffset, IoResult result) {
        Cells cells = Cells.of(size, fileOffset, bufferOffset);
        write(handle, memory, cells, result);
        return cells;
    }

    private void reported(
            Operation operation, CuFileHandle handle, IoMemory memory, Cells cells, IoResult result) {
        RequestCheck request = check(operation, handle, cells);
        StreamReport report = new StreamReport(result, request);
        boolean isGpu = memory.range().kind().isCuda();
        result.begin(request);
        try {
            result.about(handle.file(), isGpu);
            submit(operation, handle, memory, cells, report);
        } catch (RuntimeException | Error e) {
            report.refuse(e);
            throw e;
        }
    }

    /**
     * Queues a read with arguments that do not change ({@code cuFileReadAsync}).
     *
     * @param handle the file
     * @param memory receives the bytes
     * @param size bytes to read, 0 to 2^62
     * @param fileOffset first byte in the file
     * @param bufferOffset first byte in the memory
     * @return the cells of the operation, whose {@link Cells#bytesDone} is set when the stream goes on
     * @throws CuFileException as {@link #read(CuFileHandle, IoMemory, Cells)}
     */
    public Cells read(CuFileHandle handle, IoMemory memory, long size, long fileOffset, long bufferOffset) {
        Cells cells = Cells.of(size, fileOffset, bufferOffset);
        read(handle, memory, cells);
        return cells;
    }

    /**
     * Queues a read of the whole memory; see {@link #read(CuFileHandle, IoMemory, long, long, long)}.
     *
     * @param handle the file
     * @param memory receives the bytes
     * @param fileOffset first byte in the file
     * @return the cells of the operation
     * @throws CuFileException as {@link #read(CuFileHandle, IoMemory, Cells)}
     */
    public Cells read(CuFileHandle handle, IoMemory memory, long fileOffset) {
        return read(handle, memory, memory.range().length(), fileOffset, 0);
    }

    /**
     * Queues a write of the whole memory; see {@link #write(CuFileHandle, IoMemory, long, long, long)}.
     *
     * @param handle the file
     * @param memory holds the bytes
     * @param fileOffset first byte in the file
     * @return the cells of the operation
     * @throws CuFileException as {@link #write(CuFileHandle, IoMemory, Cells)}
     */
    public Cells write(CuFileHandle handle, IoMemory memory, long fileOffset) {
        return write(handle, memory, memory.range().length(), fileOffset, 0);
    }

    /**
     * Queues a write with arguments that do not change ({@code cuFileWriteAsync}).
     *
     * @param handle the file
     * @param memory holds the bytes
     * @param size bytes to write, 0 to 2^62
     * @param fileOffset first byte in the file
     * @param bufferOffset first byte in the memory
     * @return the cells of the operation, as {@link #read(CuFileHandle, IoMemory, long, long, long)} does
     * @throws CuFileException as {@link #write(CuFileHandle, IoMemory, Cells)}
     */
    public Cells write(CuFileHandle handle, IoMemory memory, long size, long fileOffset, long bufferOffset) {
        Cells cells = Cells.of(size, fileOffset, bufferOffset);
        write(handle, memory, cells);
        return cells;
    }

    /**
     * Queues a read into several fragments of memory, as {@link CuFileHandle#readScattered(long, long, List)}. On a CUDA stream, fragments of
     * its GPU are copied by one kernel in the stream; with others among them, each fragment is a copy.
     *
     * @param handle the file
     * @param fileOffset first byte in the file
     * @param length bytes to read, 0 to 2^50
     * @param copies rows of the range and their destinations, 1 or more; disjoint
     * @return the cells of the operation, as {@link #read(CuFileHandle, IoMemory, long, long, long)} does. A smaller size, where the stream's
     *         flags allow one, leaves the fragments behind it as they are. {@code bufferOffset} has no effect: each fragment has its own
     * @throws CuFileException for fragments as {@link CuFileHandle#readScattered(long, long, List)}, otherwise as
     *         {@link #read(CuFileHandle, IoMemory, Cells)}
     */
    public Cells readScattered(CuFileHandle handle, long fileOffset, long length, List<ScatterCopy> copies) {
        return scattered(Operation.STREAM_READ, handle, fileOffset, length, copies);
    }

    /**
     * Queues a write from several fragments of memory, as {@link CuFileHandle#writeScattered(long, long, List)}.
     *
     * @param handle the file
     * @param fileOffset first byte in the file
     * @param length bytes to write, 0 to 2^50
     * @param copies rows of the range and their memory, 1 or more; together they hold each byte of the range once
     * @return the cells of the operation, as {@link #readScattered} does
     * @throws CuFileException for fragments as {@link CuFileHandle#writeScattered(long, long, List)}, otherwise as
     *         {@link #write(CuFileHandle, IoMemory, Cells)}
     */
    public Cells writeScattered(CuFileHandle handle, long fileOffset, long length, List<ScatterCopy> copies) {
        return scattered(Operation.STREAM_WRITE, handle, fileOffset, length, copies);
    }

    private Cells scattered(
            Operation operation, CuFileHandle handle, long fileOffset, long length,
            List<ScatterCopy> copies) {
        RequestCheck request = new RequestCheck(operation, handle.path(), length, fileOffset, 0);
        checkSession(request, handle);
        if (length > MAX_SCATTERED) {
            throw request.invalid("the range has %s bytes, allowed: 0 to 2^50".formatted(length));
        }
        ScatterCheck checked = use.session().borrowCheck();
        try {
            checked.check(request, copies);
            for (int i = 0; i < checked.size(); i++) {
                checkOutlivesCall(request, checked.memory(i));
            }
            Cells cells = Cells.of(length, fileOffset, 0);
            submit(request, () -> RequestCall.whileEntered(handle, request, checked, () -> {
                queue(request(handle, checked.memory(0), cells).scattered(checked.forBackend()), operation);
                return 0;
            }));
            return cells;
        } finally {
            checked.clear();
            use.session().giveBack(checked);
        }
    }

    private StreamRequest request(CuFileHandle handle, IoMemory memory, Cells cells) {
        return new StreamRequest(
                handle.file(), memory.range(), cells.size(), cells.fileOffset(), cells.bufferOffset(),
                cells.result(), stream);
    }

    private static RequestCheck check(Operation operation, CuFileHandle handle, Cells cells) {
        return new RequestCheck(
                operation, handle.path(), Cells.valueOf(cells.size), Cells.valueOf(cells.fileOffset), 0);
    }

    private void checkSession(RequestCheck request, CuFileHandle handle) {
        if (handle.session() != use.session()) {
            throw request.failure(CuFileError.HANDLE_NOT_REGISTERED)
                    .detail("the handle belongs to another driver session")
                    .build();
        }
    }

    private void submit(RequestCheck request, Runnable queueing) {
        try (Lifetime.Call _ = lifetime.begin(() -> request.invalid("the stream is deregistered"))) {
            queueing.run();
        } catch (CuFileException e) {
            throw request.named(e);
        }
    }

    private void submit(
            Operation operation, CuFileHandle handle, IoMemory anyMemory, Cells cells, ResultSink sink) {
        IoMemory memory = MemoryUse.plain(anyMemory);
        Objects.requireNonNull(cells, "cells");
        RequestCheck checked = check(operation, handle, cells);
        checkSession(checked, handle);
        checked.checkAccess(memory);
        checkOutlivesCall(checked, memory);
        submit(checked, () -> {
            handle.enter(checked, memory);
            try {
                StreamRequest request = request(handle, memory, cells);
                queue(sink == ResultSink.NONE ? request : request.reportTo(sink), operation);
            } finally {
                handle.exit(memory);
            }
        });
    }

    private static void checkOutlivesCall(RequestCheck request, IoMemory memory) {
        try {
            MemoryUse.requireOutlivesCall(memory);
        } catch (CuFileException e) {
            throw request.wrap(e);
        }
    }

    private void queue(StreamRequest request, Operation operation) {
        CuFileBackend backend = use.session().backend();
        long range = TraceRanges.ACTIVE ? beginRange(request, operation) : 0;
        try {
            if (operation.isWrite()) {
                backend.writeAsync(request);
            } else {
                backend.readAsync(request);
            }
        } finally {
            if (TraceRanges.ACTIVE) {
                TraceRanges.end(range);
            }
        }
    }

    /** The range of a submission: the stream's own row in a profiler shows when the stream reaches the operation. */
    private static long beginRange(StreamRequest request, Operation operation) {
        return TraceRanges.begin(
                operation.isWrite() ? TracedOperation.STREAM_WRITE : TracedOperation.STREAM_READ,
                request.file().ioPath().path(),
                request.size().get(ValueLayout.JAVA_LONG, 0));
    }

    /**
     * Waits until the stream has passed what is queued on it now, other work of the program included ({@code cuStreamSynchronize}).
     * Then {@link Cells#bytesDone} of these operations is set.
     *
     * @throws CuFileException INVALID_VALUE after close, IO_NOT_SUPPORTED (EBUSY) from work of a {@link HostStream} itself, otherwise as
     *         {@link MemoryAllocator#awaitStream}
     * @throws io.gds4j.error.CuFileInterruptedException if the thread is interrupted while it waits for a host stream
     */
    public void synchronize() {
        if (!isOpen()) {
            throw Failures.invalid(SYNCHRONIZE, "the stream is closed");
        }
        // Neither branch keeps the stream from being closed: its work, which they wait for, may close it.
        Optional<HostStream> host = HostStream.find(stream);
        if (host.isPresent()) {
            await(host.get());
        } else {
            use.call(SYNCHRONIZE, CuFileBackend::allocator).awaitStream(stream);
        }
    }

    private static void await(HostStream host) {
        if (host.isCurrentThread()) {
            throw CuFileException.of(CuFileError.IO_NOT_SUPPORTED, Errno.EBUSY, SYNCHRONIZE,
                    "work of a host stream cannot wait for itself");
        }
        try {
            host.synchronize();
        } catch (IllegalStateException e) {
            throw Failures.invalid(SYNCHRONIZE, "the host stream is closed");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw CuFileException.builder(SYNCHRONIZE)
                    .error(CuFileError.IO_ERROR)
                    .errno(Errno.EINTR)
                    .detail("interrupted while waiting for a host stream")
                    .cause(e)
                    .buildInterrupted();
        }
    }

    /** {@return true until {@link #close}} */
    public boolean isOpen() {
        return lifetime.isOpen();
    }

    /**
     * Deregisters the stream ({@code cuFileStreamDeregister}). Idempotent; concurrent and later calls wait until it is done.
     *
     * @throws CuFileException IO_NOT_SUPPORTED (EBUSY) from inside a call on this stream; nothing changes
     */
    @Override
    public void close() {
        lifetime.close(this, "cuFileStreamDeregister");
    }

    /**
     * Arguments and result of a stream operation: four 64-bit integers in native memory. Without the matching
     * {@link StreamFlag} an argument is read when the stream reaches the operation. An {@link IoResult} tells the I/O path.
     *
     * @param size bytes to move; at submission an upper bound
     * @param fileOffset first byte in the file
     * @param bufferOffset first byte in the memory; without effect for fragments
     * @param result receives the bytes moved, or a negative errno or cuFile code
     */
    public record Cells(
            MemorySegment size, MemorySegment fileOffset, MemorySegment bufferOffset, MemorySegment result) {

        private static final VarHandle CELL = ValueLayout.JAVA_LONG.varHandle();

        /**
         * Checks the cells.
         *
         * @throws CuFileException INVALID_VALUE (EINVAL) for a cell over a Java array, of less than 8 bytes, not 8-byte
         *         aligned, or of a closed arena, and for a read-only {@code result}
         */
        public Cells {
            check("size", size);
            check("fileOffset", fileOffset);
            check("bufferOffset", bufferOffset);
            check("result", result);
            if (result.isReadOnly()) {
                throw invalid("result is read-only");
            }
        }

        /**
         * Makes cells for one operation, in memory that is freed when neither the program nor the operation refers to it.
         *
         * @param size bytes to move, 0 to 2^62
         * @param fileOffset first byte in the file
         * @param bufferOffset first byte in the memory
         * @return the cells; {@code result} is 0
         */
        public static Cells of(long size, long fileOffset, long bufferOffset) {
            MemorySegment cells = Arena.ofAuto().allocateFrom(ValueLayout.JAVA_LONG, size, fileOffset, bufferOffset, 0);
            return new Cells(cell(cells, 0), cell(cells, 1), cell(cells, 2), cell(cells, 3));
        }

        private static MemorySegment cell(MemorySegment cells, int index) {
            return cells.asSlice(index * CELL_BYTES, CELL_BYTES);
        }

        /**
         * Returns the current value of {@code result}. Meaningful after the stream has passed the operation. If the stream fails
         * while it copies the bytes of a read, the value may become an error only once the {@link CuFileStream} is closed.
         *
         * @return the bytes moved, or a negative errno or cuFile code
         */
        public long bytesDone() {
            return (long) CELL.getAcquire(result, 0L);
        }

        /** Returns what a cell says at submission; -1 if this thread may not read it: the submission refuses it then. */
        private static long valueOf(MemorySegment cell) {
            try {
                return (long) CELL.getAcquire(cell, 0L);
            } catch (IllegalStateException | WrongThreadException e) {
                return -1;
            }
        }

        private static void check(String name, MemorySegment cell) {
            if (!cell.isNative() || cell.byteSize() < CELL_BYTES || cell.address() % CELL_BYTES != 0) {
                throw invalid(name + " is not a native, 8-byte aligned cell of 8 bytes");
            }
            if (!cell.scope().isAlive()) {
                throw invalid(name + " is a cell of a closed arena");
            }
        }

        private static CuFileException invalid(String detail) {
            return Failures.invalid("cuFileReadAsync", detail);
        }
    }
}
