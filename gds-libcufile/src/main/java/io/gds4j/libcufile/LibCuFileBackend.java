package io.gds4j.libcufile;

import io.gds4j.config.CuFileConfig;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.libcufile.file.LibraryFile;
import io.gds4j.libcufile.guard.LibraryPreconditions;
import io.gds4j.libcufile.guard.VectorTransfers;
import io.gds4j.libcufile.process.LibraryProcess;
import io.gds4j.libcufile.process.OpenLibrary;
import io.gds4j.libcufile.stream.SessionStreams;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BackendBatch;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.BatchEvent;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.FileSource;
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
final class LibCuFileBackend extends LibraryDriver {
    static final String NAME = "libcufile";

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
        super(process, config, directOnly, storage, posix, cuda);
    }

    @Override
    public String name() {
        return NAME;
    }

    // ---- handles, buffers, synchronous I/O

    @Override
    public BackendFile handleRegister(FileSource source) {
        LibCuFileSession open = openImplicitly();
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
            LibCuFileSession open = session();
            if (open != null && own.isOf(open)) {
                open.deregister(own);
                statistics.handleDeregistered();
            }
        }
    }

    @Override
    public void bufRegister(MemoryRange range, int flags) {
        LibCuFileSession open = openImplicitly();
        registerCounted(range, () -> open.register(range, flags));
    }

    @Override
    public void bufRegisterNow(MemoryRange range, int flags) {
        LibCuFileSession open = openImplicitly();
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
        LibCuFileSession open = session();
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
        return transfer("cuFileRead", false, file, base, size, fileOffset, bufferOffset);
    }

    @Override
    public long write(BackendFile file, MemoryRange base, long size, long fileOffset, long bufferOffset) {
        return transfer("cuFileWrite", true, file, base, size, fileOffset, bufferOffset);
    }

    /** Stages what GPUs receive in memory of the first of them, so that the library reads directly. */
    @Override
    public MemoryAllocation stage(MemoryRange destination, long bytes) {
        return destination.kind().isCuda()
                ? current("cuFileRead").stages().take(destination.device())
                : super.stage(destination, bytes);
    }

    private long transfer(
            String function,
            boolean write,
            BackendFile file,
            MemoryRange base,
            long size,
            long fileOffset,
            long bufferOffset) {
        long begun = statistics.begin(write, base);
        if (begun == 0) {
            return move(function, write, file, base, size, fileOffset, bufferOffset);
        }
        boolean succeeded = false;
        long moved = 0;
        try {
            moved = move(function, write, file, base, size, fileOffset, bufferOffset);
            succeeded = true;
            return moved;
        } finally {
            statistics.end(
                    begun, LibraryFile.pathOf(file), write, base, size, fileOffset, bufferOffset, succeeded, moved);
        }
    }

    private long move(
            String function,
            boolean write,
            BackendFile file,
            MemoryRange base,
            long size,
            long fileOffset,
            long bufferOffset) {
        LibCuFileSession open = current(function);
        LibraryFile own = enter(function, open, file);
        try {
            // The library fails with EPERM, EIO or 5030 for such numbers, and with EIO against the access mode.
            TransferArguments.check(function, own, base, size, fileOffset, bufferOffset, write);
            return size == 0 ? 0 : open.transfer(own, write, base, size, fileOffset, bufferOffset);
        } finally {
            own.exit();
        }
    }

    /** Enters a file of the open session; the caller exits it. */
    private LibraryFile enter(String function, LibCuFileSession open, BackendFile file) {
        LibraryFile own = open.own(function, file);
        if (!own.enter()) {
            // The driver may have closed since the caller looked.
            throw session() == open ? own.refused(function) : OpenLibrary.closed(function);
        }
        return own;
    }

    // ---- batches

    @Override
    public BackendBatch batchIoSetUp(int capacity) {
        return current("cuFileBatchIOSetUp").batches().setUp(capacity);
    }

    @Override
    public void batchIoSubmit(BackendBatch batch, List<BatchRequest> requests, int flags) {
        current("cuFileBatchIOSubmit").batches().submit(batch, requests, flags);
    }

    @Override
    public List<BatchEvent> batchIoGetStatus(
            BackendBatch batch, int minimum, int maximum, Optional<Duration> timeout) {
        return current("cuFileBatchIOGetStatus").batches().await(batch, minimum, maximum, timeout);
    }

    @Override
    public void batchIoCancel(BackendBatch batch) {
        current("cuFileBatchIOCancel").batches().cancel(batch);
    }

    @Override
    public void batchIoDestroy(BackendBatch batch) {
        LibCuFileSession open = session();
        if (open != null) {
            open.batches().destroy(batch);
        }
    }

    // ---- streams

    @Override
    public void readAsync(StreamRequest request) {
        queue(false, request);
    }

    @Override
    public void writeAsync(StreamRequest request) {
        queue(true, request);
    }

    private void queue(boolean write, StreamRequest request) {
        String function = SessionStreams.function(write);
        LibCuFileSession open = current(function);
        LibraryFile own = enter(function, open, request.file());
        try {
            TransferArguments.checkAccessMode(function, own, -1, -1, write);
            open.streams().submit(own, write, request);
        } finally {
            own.exit();
        }
    }

    @Override
    public void streamRegister(long stream, int flags) {
        run("cuFileStreamRegister", open -> open.streams().register(stream, flags));
    }

    @Override
    public void streamDeregister(long stream) {
        LibCuFileSession open = current("cuFileStreamDeregister");
        open.openLibrary().ifAlive(() -> open.streams().deregister(stream));
    }

    // ---- later versions

    @Override
    public long readv(BackendFile file, List<MemoryRange> ranges, long fileOffset, int flags) {
        return transferVector("cuFileReadv", false, file, ranges, fileOffset, flags);
    }

    @Override
    public long writev(BackendFile file, List<MemoryRange> ranges, long fileOffset, int flags) {
        return transferVector("cuFileWritev", true, file, ranges, fileOffset, flags);
    }

    @Override
    public long transfer(BatchRequest request) {
        String function = request.write() ? "cuFileWritev" : "cuFileReadv";
        List<MemoryRange> vector = vector(function, request);
        if (vector.isEmpty()) {
            return super.transfer(request);
        }
        LibraryFile file = current(function).own(function, request.file());
        try {
            long moved =
                    transferVector(function, request.write(), request.file(), vector, request.fileOffset(), 0);
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
        LibCuFileSession open = current(function);
        return open.servesVectors(open.own(function, request.file()))
                ? VectorTransfers.vector(request.size(), request.copies())
                : List.of();
    }

    /** Counts the vector as one request. */
    private long transferVector(
            String function,
            boolean write,
            BackendFile file,
            List<MemoryRange> ranges,
            long fileOffset,
            int flags) {
        if (ranges.isEmpty()) {
            return moveVector(function, write, file, ranges, fileOffset, flags);
        }
        MemoryRange first = ranges.getFirst();
        long begun = statistics.begin(write, first);
        boolean succeeded = false;
        long moved = 0;
        try {
            moved = moveVector(function, write, file, ranges, fileOffset, flags);
            succeeded = true;
            return moved;
        } finally {
            if (begun != 0) {
                long size = ranges.stream().mapToLong(MemoryRange::length).sum();
                statistics.endVector(begun, LibraryFile.pathOf(file), write, first, size, fileOffset, succeeded, moved);
            }
        }
    }

    private long moveVector(
            String function,
            boolean write,
            BackendFile file,
            List<MemoryRange> ranges,
            long fileOffset,
            int flags) {
        LibCuFileSession open = current(function);
        LibraryFile own = enter(function, open, file);
        try {
            LibraryPreconditions.vector(function, own, ranges, fileOffset, flags);
            TransferArguments.checkAccessMode(function, own, -1, fileOffset, write);
            return ranges.isEmpty() ? 0 : open.transferVector(own, write, ranges, fileOffset, flags);
        } finally {
            own.exit();
        }
    }
}
