package io.gds4j.compat;

import io.gds4j.compat.file.CompatFile;
import io.gds4j.compat.transfer.RequestExecutor;
import io.gds4j.config.CuFileConfig;
import io.gds4j.engine.lifecycle.DriverUses;
import io.gds4j.engine.memory.GpuExpectation;
import io.gds4j.engine.memory.NativeMemoryAllocator;
import io.gds4j.engine.statistics.CuFileCounters;
import io.gds4j.engine.statistics.PathCounters;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.nvml.NvmlAvailability;
import io.gds4j.ffi.nvml.NvmlLibrary;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BackendBatch;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.BatchEvent;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.DriverControls;
import io.gds4j.spi.DriverLimits;
import io.gds4j.spi.FileSource;
import io.gds4j.spi.Operation;
import io.gds4j.spi.StreamRequest;
import io.gds4j.spi.TransferArguments;
import io.gds4j.spi.VectorTransfer;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/** cuFile over POSIX: forwards each function to the {@link CompatSession} of the open driver. */
public final class CompatBackend implements CuFileBackend {
    public static final String NAME = CompatControls.NAME;

    private final Posix posix;
    private final Optional<CudaContexts> contexts;
    private final NativeMemoryAllocator allocator;
    private final CuFileCounters statistics;
    private final PathCounters pathBytes = new PathCounters();
    private final DriverUses<CompatSession> uses = new DriverUses<>(new Sessions());
    private final CompatControls controls;

    public CompatBackend(CuFileConfig config, Posix posix, CudaAvailability cuda) {
        this(config, posix, cuda, NvmlLibrary::detect);
    }

    /** @param nvml loads NVML when a function needs it */
    public CompatBackend(CuFileConfig config, Posix posix, CudaAvailability cuda, Supplier<NvmlAvailability> nvml) {
        this.posix = posix;
        this.contexts = cuda.cudaContexts();
        this.allocator = new NativeMemoryAllocator(posix, cuda, new Expected());
        this.statistics = new CuFileCounters(cuda);
        this.controls = new CompatControls(uses, statistics, pathBytes, config, cuda, nvml);
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

    private final class Sessions implements DriverUses.Sessions<CompatSession> {
        @Override
        public CompatSession open() {
            CuFileConfig config = controls.begin();
            boolean opened = false;
            try {
                DriverLimits limits = new DriverLimits(config);
                CompatSession open = new CompatSession(posix, contexts, config, limits, pathBytes, statistics);
                controls.opened(config, limits);
                allocator.open();
                opened = true;
                return open;
            } finally {
                if (!opened) {
                    controls.abandon();
                }
            }
        }

        @Override
        public void leave(CompatSession last) {
            controls.leave(last);
        }

        @Override
        public void end(CompatSession last) {
            last.close();
        }

        @Override
        public void rest() {
            allocator.close();
            statistics.close();
        }

        @Override
        public CuFileException closed(String function) {
            return CompatSession.closed(function);
        }
    }

    /** Tells the open session of the allocator's work. */
    private final class Expected implements GpuExpectation {
        @Override
        public void expect(int gpu) {
            CompatSession open = uses.session();
            if (open != null) {
                open.expect(gpu);
            }
        }

        @Override
        public void prepare(int gpu) {
            CompatSession open = uses.session();
            if (open != null) {
                open.prepare(gpu);
            }
        }

        @Override
        public void allocates() {
            CompatSession open = uses.session();
            if (open != null) {
                open.growSlabs();
            }
        }
    }

    @Override
    public BackendFile handleRegister(FileSource source) {
        CompatSession open = uses.openImplicitly();
        open.enter("cuFileHandleRegister");
        boolean succeeded = false;
        try {
            BackendFile file = open.files().register(source);
            succeeded = true;
            return file;
        } finally {
            open.exit();
            statistics.handleRegistered(succeeded);
        }
    }

    @Override
    public void handleDeregister(BackendFile file) {
        CompatSession open = uses.session();
        if (open != null && file instanceof CompatFile ours) {
            try {
                open.files().deregister(ours);
            } finally {
                statistics.handleDeregistered();
            }
        }
    }

    @Override
    public void bufRegister(MemoryRange range, int flags) {
        CompatSession open = uses.openImplicitly();
        open.enter("cuFileBufRegister");
        boolean succeeded = false;
        try {
            open.registerBuffer(range);
            succeeded = true;
        } finally {
            open.exit();
            statistics.bufferRegistered(range, succeeded);
        }
    }

    @Override
    public void bufDeregister(MemoryRange range) {
        CompatSession open = uses.session();
        if (open == null) {
            throw CuFileException.of(CuFileError.DRIVER_CLOSING, "cuFileBufDeregister", "the driver is closed");
        }
        boolean succeeded = false;
        try {
            open.deregisterBuffer(range);
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
    public long transfer(BatchRequest request) {
        Operation operation = request.operation();
        CompatSession open = enter(operation.function());
        long begun = statistics.begin(operation, request.memory());
        boolean succeeded = false;
        long moved = 0;
        try {
            moved = open.executor().execute(request);
            succeeded = true;
            return moved;
        } finally {
            open.exit();
            if (begun != 0) {
                statistics.end(
                        begun, RequestExecutor.STATISTICS_PATH, operation, request.memory(), request.size(),
                        request.fileOffset(), request.bufferOffset(), succeeded, moved);
            }
        }
    }

    @Override
    public boolean waitsForDisk(BackendFile file, long fileOffset, long size) {
        CompatSession open = enter("waitsForDisk");
        try {
            CompatFile own = open.executor().own(file, "waitsForDisk");
            return open.executor().planner().waitsForDisk(own, fileOffset, size, Operation.READ)
                    || !own.descriptors().traits().inMemory() && !own.descriptors().canQueryPageCache();
        } finally {
            open.exit();
        }
    }

    @Override
    public long write(BackendFile file, MemoryRange base, long size, long fileOffset, long bufferOffset) {
        return transfer(Operation.WRITE, file, base, size, fileOffset, bufferOffset);
    }

    private long transfer(
            Operation operation, BackendFile file, MemoryRange base, long size, long fileOffset, long bufferOffset) {
        CompatSession open = enter(operation.function());
        long begun = statistics.begin(operation, base);
        boolean succeeded = false;
        long moved = 0;
        try {
            moved = open.executor().execute(operation, file, base, size, fileOffset, bufferOffset);
            succeeded = true;
            return moved;
        } finally {
            open.exit();
            if (begun != 0) {
                statistics.end(
                        begun, RequestExecutor.STATISTICS_PATH, operation, base, size, fileOffset, bufferOffset,
                        succeeded, moved);
            }
        }
    }

    @Override
    public BackendBatch batchIoSetUp(int capacity) {
        CompatSession open = enter("cuFileBatchIOSetUp");
        try {
            return open.batches().setUp(capacity);
        } finally {
            open.exit();
        }
    }

    @Override
    public void batchIoSubmit(BackendBatch batch, List<BatchRequest> requests, int flags) {
        CompatSession open = enter("cuFileBatchIOSubmit");
        try {
            open.batches().submit(batch, requests);
        } finally {
            open.exit();
        }
    }

    @Override
    public List<BatchEvent> batchIoGetStatus(
            BackendBatch batch, int minimum, int maximum, Optional<Duration> timeout) {
        CompatSession open = enter("cuFileBatchIOGetStatus");
        try {
            return open.batches().status(batch, minimum, maximum, timeout);
        } finally {
            open.exit();
        }
    }

    @Override
    public void batchIoCancel(BackendBatch batch) {
        CompatSession open = enterToEnd("cuFileBatchIOCancel");
        try {
            open.batches().cancel(batch);
        } finally {
            open.exit();
        }
    }

    @Override
    public void batchIoDestroy(BackendBatch batch) {
        CompatSession open = uses.session();
        if (open != null) {
            open.batches().destroy(batch);
        }
    }

    @Override
    public void readAsync(StreamRequest request) {
        submit(Operation.STREAM_READ, request);
    }

    @Override
    public void writeAsync(StreamRequest request) {
        submit(Operation.STREAM_WRITE, request);
    }

    private void submit(Operation operation, StreamRequest request) {
        CompatSession open = enter(operation.function());
        try {
            open.streams().submit(request, operation);
        } finally {
            open.exit();
        }
    }

    @Override
    public void streamRegister(long stream, int flags) {
        CompatSession open = enter("cuFileStreamRegister");
        try {
            open.streams().register(stream, flags);
        } finally {
            open.exit();
        }
    }

    @Override
    public void streamDeregister(long stream) {
        CompatSession open = enterToEnd("cuFileStreamDeregister");
        try {
            open.streams().deregister(stream);
        } finally {
            open.exit();
        }
    }

    @Override
    public long readv(BackendFile file, List<MemoryRange> ranges, long fileOffset, int flags) {
        return vector(Operation.VECTOR_READ, file, ranges, fileOffset, flags);
    }

    @Override
    public long writev(BackendFile file, List<MemoryRange> ranges, long fileOffset, int flags) {
        return vector(Operation.VECTOR_WRITE, file, ranges, fileOffset, flags);
    }

    private long vector(
            Operation operation, BackendFile file, List<MemoryRange> ranges, long fileOffset, int flags) {
        CompatSession open = enter(operation.function());
        long begun = ranges.isEmpty() ? 0 : statistics.begin(operation, ranges.getFirst());
        boolean succeeded = false;
        long moved = 0;
        try {
            BackendFile own = open.executor().own(file, operation.function());
            moved = VectorTransfer.run(
                    own, operation, ranges, fileOffset, flags,
                    (range, at) -> open.executor().execute(operation.single(), own, range, range.length(), at, 0));
            succeeded = true;
            return moved;
        } finally {
            open.exit();
            if (begun != 0) {
                statistics.end(
                        begun, RequestExecutor.STATISTICS_PATH, operation, ranges.getFirst(),
                        TransferArguments.total(ranges), fileOffset, 0, succeeded, moved);
            }
        }
    }

    private CompatSession enter(String function) {
        CompatSession open = uses.current(function);
        open.enter(function);
        return open;
    }

    private CompatSession enterToEnd(String function) {
        CompatSession open = uses.current(function);
        open.enterToEnd(function);
        return open;
    }
}
