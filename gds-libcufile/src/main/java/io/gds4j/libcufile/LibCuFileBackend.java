package io.gds4j.libcufile;

import io.gds4j.config.CuFileConfig;
import io.gds4j.engine.lifecycle.DriverUses;
import io.gds4j.engine.memory.NativeMemoryAllocator;
import io.gds4j.engine.statistics.CuFileCounters;
import io.gds4j.engine.statistics.PathCounters;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.libcufile.file.LibraryFile;
import io.gds4j.libcufile.guard.LibraryPreconditions;
import io.gds4j.libcufile.process.LibraryProcess;
import io.gds4j.libcufile.process.LibrarySettings;
import io.gds4j.libcufile.process.OpenLibrary;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BackendBatch;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.BatchEvent;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.DriverControls;
import io.gds4j.spi.FileSource;
import io.gds4j.spi.Operation;
import io.gds4j.spi.StreamRequest;
import io.gds4j.spi.TransferArguments;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * The backend {@code libcufile}: cuFile by NVIDIA's library. Each function checks its {@link LibraryPreconditions
 * preconditions} and calls the {@link LibCuFileSession} of the open driver.
 *
 * <p>
 * Every backend has its own session, but the process has one library: limits and parameters apply to all sessions.
 * Statistics are those of the session; gds4j counts them.
 */
final class LibCuFileBackend implements CuFileBackend {
    static final String NAME = LibraryControls.NAME;

    private final LibraryProcess process;
    private final CuFileConfig config;
    private final DirectStorageProbe storage;
    private final Posix posix;
    private final CudaAvailability cuda;
    private final NativeMemoryAllocator allocator;
    private final CuFileCounters statistics;
    private final PathCounters pathBytes = new PathCounters();
    private final DriverUses<LibCuFileSession> uses = new DriverUses<>(new Sessions());
    private final LibraryControls controls;

    /**
     * @param directOnly the library must refuse what it cannot serve directly, because another backend serves that
     *         better
     */
    LibCuFileBackend(
            LibraryProcess process,
            CuFileConfig config,
            boolean directOnly,
            DirectStorageProbe storage,
            Posix posix,
            CudaAvailability cuda) {
        this.process = process;
        this.config = config;
        this.storage = storage;
        this.posix = posix;
        this.cuda = cuda;
        this.allocator = new NativeMemoryAllocator(posix, cuda);
        this.statistics = new CuFileCounters(cuda);
        this.controls = new LibraryControls(uses, statistics, pathBytes, process, config, directOnly, cuda);
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public MemoryAllocator allocator() {
        return allocator;
    }

    @Override
    public DriverControls controls() {
        return controls;
    }

    @Override
    public void driverOpen() {
        uses.open();
    }

    @Override
    public void driverClose() {
        uses.close();
    }

    @Override
    public long useCount() {
        return uses.count();
    }

    private final class Sessions implements DriverUses.Sessions<LibCuFileSession> {
        @Override
        public LibCuFileSession open() {
            LibrarySettings settings = controls.settings();
            LibCuFileSession open = new LibCuFileSession(
                    process, settings, config, storage, posix, contexts(), pathBytes, statistics);
            controls.opened(settings);
            allocator.open();
            return open;
        }

        private CudaContexts contexts() {
            return switch (cuda) {
                case CudaAvailability.Available available -> available.contexts();
                case CudaAvailability.Unavailable none ->
                    throw CuFileException.of(
                            CuFileError.DRIVER_NOT_INITIALIZED,
                            "cuFileDriverOpen",
                            "libcufile needs a GPU: %s (%s)".formatted(none.reason(), none.remedy()));
            };
        }

        @Override
        public void end(LibCuFileSession last) {
            last.close();
        }

        @Override
        public void rest() {
            allocator.close();
            statistics.close();
        }

        @Override
        public CuFileException closed(String function) {
            return OpenLibrary.closed(function);
        }
    }

    // ---- handles, buffers, synchronous I/O

    @Override
    public BackendFile handleRegister(FileSource source) {
        LibCuFileSession open = uses.openImplicitly();
        boolean succeeded = false;
        try {
            BackendFile file = open.register(source);
            succeeded = true;
            return file;
        } finally {
            statistics.handleRegistered(succeeded);
        }
    }

    @Override
    public void handleDeregister(BackendFile file) {
        if (file instanceof LibraryFile own) {
            LibCuFileSession open = uses.session();
            if (open != null && own.isOf(open)) {
                open.deregister(own);
                statistics.handleDeregistered();
            }
        }
    }

    @Override
    public void bufRegister(MemoryRange range, int flags) {
        LibCuFileSession open = uses.openImplicitly();
        registerCounted(range, () -> open.register(range, flags));
    }

    @Override
    public void bufRegisterNow(MemoryRange range, int flags) {
        LibCuFileSession open = uses.openImplicitly();
        registerCounted(range, () -> open.registerNow(range, flags));
    }

    private void registerCounted(MemoryRange range, Runnable registration) {
        boolean succeeded = false;
        try {
            registration.run();
            succeeded = true;
        } finally {
            statistics.bufferRegistered(range, succeeded);
        }
    }

    @Override
    public void bufDeregister(MemoryRange range) {
        LibCuFileSession open = uses.session();
        if (open == null) {
            throw CuFileException.of(CuFileError.DRIVER_CLOSING, "cuFileBufDeregister", "the driver is closed");
        }
        boolean succeeded = false;
        try {
            open.openLibrary().ifAlive(() -> open.deregister(range));
            succeeded = true;
        } finally {
            statistics.bufferDeregistered(range, succeeded);
        }
    }

    @Override
    public long read(BackendFile file, MemoryRange base, long size, long fileOffset, long bufferOffset) {
        return transfer(Operation.READ, file, base, size, fileOffset, bufferOffset);
    }

    @Override
    public long write(BackendFile file, MemoryRange base, long size, long fileOffset, long bufferOffset) {
        return transfer(Operation.WRITE, file, base, size, fileOffset, bufferOffset);
    }

    /** Stages what GPUs receive in memory of the first of them, so that the library reads directly. */
    @Override
    public MemoryAllocation stage(MemoryRange destination, long bytes) {
        return destination.kind().isCuda()
                ? uses.current("cuFileRead").stages().take(destination.device())
                : CuFileBackend.super.stage(destination, bytes);
    }

    private long transfer(
            Operation operation,
            BackendFile file,
            MemoryRange base,
            long size,
            long fileOffset,
            long bufferOffset) {
        long begun = statistics.begin(operation, base);
        if (begun == 0) {
            return move(operation, file, base, size, fileOffset, bufferOffset);
        }
        boolean succeeded = false;
        long moved = 0;
        try {
            moved = move(operation, file, base, size, fileOffset, bufferOffset);
            succeeded = true;
            return moved;
        } finally {
            statistics.end(
                    begun, LibraryFile.pathOf(file), operation, base, size, fileOffset, bufferOffset, succeeded, moved);
        }
    }

    private long move(
            Operation operation,
            BackendFile file,
            MemoryRange base,
            long size,
            long fileOffset,
            long bufferOffset) {
        String function = operation.function();
        LibCuFileSession open = uses.current(function);
        LibraryFile own = enter(function, open, file);
        try {
            // The library fails with EPERM, EIO or 5030 for such numbers, and with EIO against the access mode.
            TransferArguments.check(function, own, base, size, fileOffset, bufferOffset, operation);
            return size == 0 ? 0 : open.transfer(own, operation, base, size, fileOffset, bufferOffset);
        } finally {
            own.exit();
        }
    }

    /** Enters a file of the open session; the caller exits it. */
    private LibraryFile enter(String function, LibCuFileSession open, BackendFile file) {
        LibraryFile own = open.own(function, file);
        if (!own.enter()) {
            // The driver may have closed since the caller looked.
            throw uses.session() == open ? own.refused(function) : OpenLibrary.closed(function);
        }
        return own;
    }

    // ---- batches

    @Override
    public BackendBatch batchIoSetUp(int capacity) {
        return uses.current("cuFileBatchIOSetUp").batches().setUp(capacity);
    }

    @Override
    public void batchIoSubmit(BackendBatch batch, List<BatchRequest> requests, int flags) {
        uses.current("cuFileBatchIOSubmit").batches().submit(batch, requests, flags);
    }

    @Override
    public List<BatchEvent> batchIoGetStatus(
            BackendBatch batch, int minimum, int maximum, Optional<Duration> timeout) {
        return uses.current("cuFileBatchIOGetStatus").batches().await(batch, minimum, maximum, timeout);
    }

    @Override
    public void batchIoCancel(BackendBatch batch) {
        uses.current("cuFileBatchIOCancel").batches().cancel(batch);
    }

    @Override
    public void batchIoDestroy(BackendBatch batch) {
        LibCuFileSession open = uses.session();
        if (open != null) {
            open.batches().destroy(batch);
        }
    }

    // ---- streams

    @Override
    public void readAsync(StreamRequest request) {
        queue(Operation.STREAM_READ, request);
    }

    @Override
    public void writeAsync(StreamRequest request) {
        queue(Operation.STREAM_WRITE, request);
    }

    private void queue(Operation operation, StreamRequest request) {
        String function = operation.function();
        LibCuFileSession open = uses.current(function);
        LibraryFile own = enter(function, open, request.file());
        try {
            TransferArguments.checkAccessMode(function, own, -1, -1, operation);
            open.streams().submit(own, operation, request);
        } finally {
            own.exit();
        }
    }

    @Override
    public void streamRegister(long stream, int flags) {
        LibCuFileSession open = uses.current("cuFileStreamRegister");
        open.openLibrary().runWhileAlive("cuFileStreamRegister", () -> open.streams().register(stream, flags));
    }

    @Override
    public void streamDeregister(long stream) {
        LibCuFileSession open = uses.current("cuFileStreamDeregister");
        open.openLibrary().ifAlive(() -> open.streams().deregister(stream));
    }

    // ---- later versions

    @Override
    public long readv(BackendFile file, List<MemoryRange> ranges, long fileOffset, int flags) {
        return transferVector(Operation.VECTOR_READ, file, ranges, fileOffset, flags);
    }

    @Override
    public long writev(BackendFile file, List<MemoryRange> ranges, long fileOffset, int flags) {
        return transferVector(Operation.VECTOR_WRITE, file, ranges, fileOffset, flags);
    }

    @Override
    public long transfer(BatchRequest request) {
        Operation operation = request.write() ? Operation.VECTOR_WRITE : Operation.VECTOR_READ;
        String function = operation.function();
        List<MemoryRange> vector = vector(function, request);
        if (vector.isEmpty()) {
            return CuFileBackend.super.transfer(request);
        }
        LibraryFile file = uses.current(function).own(function, request.file());
        try {
            long moved = transferVector(operation, request.file(), vector, request.fileOffset(), 0);
            file.report(request, 0, moved);
            return moved;
        } catch (CuFileException e) {
            file.report(request, 0, e.bytesTransferred());
            throw e;
        }
    }

    /** Returns fragments as ranges of a vector; empty if the library gets none. */
    private List<MemoryRange> vector(String function, BatchRequest request) {
        if (request.copies().size() < 2) {
            return List.of();
        }
        LibCuFileSession open = uses.current(function);
        return open.servesVectors(open.own(function, request.file()))
                ? VectorTransfers.vector(request.size(), request.copies())
                : List.of();
    }

    /** Counts the vector as one request. */
    private long transferVector(
            Operation operation,
            BackendFile file,
            List<MemoryRange> ranges,
            long fileOffset,
            int flags) {
        if (ranges.isEmpty()) {
            return moveVector(operation, file, ranges, fileOffset, flags);
        }
        MemoryRange first = ranges.getFirst();
        long begun = statistics.begin(operation, first);
        boolean succeeded = false;
        long moved = 0;
        try {
            moved = moveVector(operation, file, ranges, fileOffset, flags);
            succeeded = true;
            return moved;
        } finally {
            if (begun != 0) {
                long size = ranges.stream().mapToLong(MemoryRange::length).sum();
                statistics.end(
                        begun, LibraryFile.pathOf(file), operation, first, size, fileOffset, 0, succeeded, moved);
            }
        }
    }

    private long moveVector(
            Operation operation,
            BackendFile file,
            List<MemoryRange> ranges,
            long fileOffset,
            int flags) {
        String function = operation.function();
        LibCuFileSession open = uses.current(function);
        LibraryFile own = enter(function, open, file);
        try {
            LibraryPreconditions.vector(function, own, ranges, fileOffset, flags);
            TransferArguments.checkAccessMode(function, own, -1, fileOffset, operation);
            return ranges.isEmpty() ? 0 : open.transferVector(own, operation, ranges, fileOffset, flags);
        } finally {
            own.exit();
        }
    }
}
