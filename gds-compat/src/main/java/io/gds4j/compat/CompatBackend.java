package io.gds4j.compat;

import io.gds4j.compat.file.CompatFile;
import io.gds4j.compat.plan.Operation;
import io.gds4j.compat.transfer.RequestExecutor;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.config.DriverProperties;
import io.gds4j.engine.memory.NativeMemoryAllocator;
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
import io.gds4j.spi.DriverLimits;
import io.gds4j.spi.FileSource;
import io.gds4j.spi.StreamRequest;
import io.gds4j.spi.TransferArguments;
import io.gds4j.spi.VectorTransfer;
import io.gds4j.statistics.EngineStatistics;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/** cuFile over POSIX: forwards the functions of cuFile 1.0 to the {@link CompatSession} of the open driver. */
public final class CompatBackend extends CompatDriver {
    public static final String NAME = "compat";

    private final Posix posix;
    private final Optional<CudaContexts> contexts;
    private final NativeMemoryAllocator allocator;
    private volatile DriverLimits limits;
    private volatile DriverProperties properties;

    private volatile long peakOfClosedSessions;

    public CompatBackend(CuFileConfig config, Posix posix, CudaAvailability cuda) {
        this(config, posix, cuda, NvmlLibrary::detect);
    }

    /** @param nvml loads NVML when a function needs it */
    public CompatBackend(CuFileConfig config, Posix posix, CudaAvailability cuda, Supplier<NvmlAvailability> nvml) {
        super(config, cuda, nvml);
        this.posix = posix;
        this.contexts = cuda.cudaContexts();
        this.allocator = new NativeMemoryAllocator(posix, cuda, new Expected());
        this.limits = new DriverLimits(config);
        this.properties = CompatProperties.of(config);
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public MemoryAllocator allocator() {
        return allocator;
    }

    /** Tells the open session of the allocator's work. */
    private final class Expected implements NativeMemoryAllocator.Expectation {
        @Override
        public void expect(int gpu) {
            CompatSession open = session();
            if (open != null) {
                open.expect(gpu);
            }
        }

        @Override
        public void prepare(int gpu) {
            CompatSession open = session();
            if (open != null) {
                open.prepare(gpu);
            }
        }

        @Override
        public void allocates() {
            CompatSession open = session();
            if (open != null) {
                open.growSlabs();
            }
        }
    }

    @Override
    public void trim() {
        CompatSession open = enter("CuFileDriver.trim");
        try {
            open.trim();
        } finally {
            open.exit();
        }
    }

    @Override
    public synchronized long peakStagingBytes() {
        CompatSession open = session();
        return open == null ? peakOfClosedSessions : Math.max(peakOfClosedSessions, open.peakStagingBytes());
    }

    @Override
    public BackendFile handleRegister(FileSource source) {
        CompatSession open = openImplicitly();
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
        CompatSession open = session();
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
        CompatSession open = openImplicitly();
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
        CompatSession open = session();
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
        boolean write = request.write();
        CompatSession open = enter(Operation.of(write).function());
        long begun = statistics.begin(write, request.memory());
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
                        begun, RequestExecutor.STATISTICS_PATH, write, request.memory(), request.size(),
                        request.fileOffset(), request.bufferOffset(), succeeded, moved);
            }
        }
    }

    @Override
    public boolean waitsForDisk(BackendFile file, long fileOffset, long size) {
        CompatSession open = enter("waitsForDisk");
        try {
            CompatFile own = open.executor().own(file, "waitsForDisk");
            return open.executor().planner().waitsForDisk(own, fileOffset, size, false)
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
        boolean write = operation.isWrite();
        CompatSession open = enter(operation.function());
        long begun = statistics.begin(write, base);
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
                        begun, RequestExecutor.STATISTICS_PATH, write, base, size, fileOffset, bufferOffset, succeeded,
                        moved);
            }
        }
    }

    @Override
    protected CompatSession openSession() {
        CuFileConfig config = parameters.open();
        boolean opened = false;
        try {
            DriverLimits running = new DriverLimits(config);
            CompatSession open = new CompatSession(posix, contexts, config, running, pathBytes, statistics);
            limits = running;
            properties = CompatProperties.of(config);
            statistics.open(config.get(CuFileKeys.PROFILE_CUFILE_STATS));
            allocator.open();
            opened = true;
            return open;
        } finally {
            if (!opened) {
                parameters.close();
            }
        }
    }

    @Override
    protected void leave(CompatSession last) {
        peakOfClosedSessions = Math.max(peakOfClosedSessions, last.peakStagingBytes());
        parameters.close();
        peers.clear();
    }

    @Override
    protected void end(CompatSession last) {
        try {
            last.close();
        } finally {
            allocator.close();
        }
    }

    @Override
    public DriverProperties driverGetProperties() {
        openImplicitly();
        return limits.in(properties);
    }

    @Override
    public void driverSetPollMode(boolean poll, long pollThresholdKb) {
        current("cuFileDriverSetPollMode");
        limits.setPollMode(poll, pollThresholdKb);
    }

    @Override
    public void driverSetMaxDirectIoSize(long maxDirectIoSizeKb) {
        current("cuFileDriverSetMaxDirectIOSize");
        limits.setMaxDirectIoSize(maxDirectIoSizeKb);
    }

    @Override
    public void driverSetMaxCacheSize(long maxCacheSizeKb) {
        current("cuFileDriverSetMaxCacheSize");
        limits.setMaxCacheSize(maxCacheSizeKb);
    }

    @Override
    public void driverSetMaxPinnedMemSize(long maxPinnedSizeKb) {
        current("cuFileDriverSetMaxPinnedMemSize");
        limits.setMaxPinnedMemSize(maxPinnedSizeKb);
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
        CompatSession open = session();
        if (open != null) {
            open.batches().destroy(batch);
        }
    }

    @Override
    public void readAsync(StreamRequest request) {
        submit("cuFileReadAsync", request, false);
    }

    @Override
    public void writeAsync(StreamRequest request) {
        submit("cuFileWriteAsync", request, true);
    }

    private void submit(String function, StreamRequest request, boolean write) {
        CompatSession open = enter(function);
        try {
            open.streams().submit(request, write);
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
    public EngineStatistics engineStatistics() {
        CompatSession open = session();
        return EngineStatistics.of(
                bytesByPath(),
                open == null ? 0 : open.stagingBytes(),
                peakStagingBytes(),
                open == null ? 0 : open.queueDepth(),
                pathBytes.retries(),
                open == null ? "off" : open.ioUring());
    }

    @Override
    public long readv(BackendFile file, List<MemoryRange> ranges, long fileOffset, int flags) {
        return vector(Operation.READ, "cuFileReadv", file, ranges, fileOffset, flags);
    }

    @Override
    public long writev(BackendFile file, List<MemoryRange> ranges, long fileOffset, int flags) {
        return vector(Operation.WRITE, "cuFileWritev", file, ranges, fileOffset, flags);
    }

    private long vector(
            Operation operation, String function, BackendFile file, List<MemoryRange> ranges, long fileOffset,
            int flags) {
        CompatSession open = enter(function);
        long begun = ranges.isEmpty() ? 0 : statistics.begin(operation.isWrite(), ranges.getFirst());
        boolean succeeded = false;
        long moved = 0;
        try {
            BackendFile own = open.executor().own(file, function);
            moved = VectorTransfer.run(
                    own, operation.isWrite(), ranges, fileOffset, flags,
                    (range, at) -> open.executor().execute(operation, own, range, range.length(), at, 0));
            succeeded = true;
            return moved;
        } finally {
            open.exit();
            if (begun != 0) {
                statistics.endVector(
                        begun, RequestExecutor.STATISTICS_PATH, operation.isWrite(), ranges.getFirst(),
                        TransferArguments.total(ranges), fileOffset, succeeded, moved);
            }
        }
    }

    private CompatSession enter(String function) {
        CompatSession open = current(function);
        open.enter(function);
        return open;
    }

    private CompatSession enterToEnd(String function) {
        CompatSession open = current(function);
        open.enterToEnd(function);
        return open;
    }
}
