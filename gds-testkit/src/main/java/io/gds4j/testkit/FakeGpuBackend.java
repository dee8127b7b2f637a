package io.gds4j.testkit;

import io.gds4j.HostStream;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.config.DriverProperties;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.lifetime.Undo;
import io.gds4j.internal.plain.PlainBackend;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.spi.BackendBatch;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.BatchEvent;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.DriverControls;
import io.gds4j.spi.ForwardingBackend;
import io.gds4j.spi.Operation;
import io.gds4j.spi.StreamArguments;
import io.gds4j.spi.StreamRequest;
import io.gds4j.spi.TransferArguments;
import io.gds4j.spi.VectorTransfer;
import io.gds4j.statistics.EngineStatistics;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** A session on a {@link FakeGpu}: files of the {@link ReferenceBackend}, memory and streams of the GPU. */
final class FakeGpuBackend extends ForwardingBackend implements DriverControls, StreamsForWork {
    /** cuFile 1.19, the version of the newest function that it has. */
    private static final int VERSION = 1190;

    private static final String REGISTER_STREAM = "cuFileStreamRegister";
    private static final String DEREGISTER_STREAM = "cuFileStreamDeregister";
    private static final String SUBMIT = "cuFileBatchIOSubmit";
    private static final long KIB = 1024;
    private static final long POLL_NANOS = 50_000;

    private final CuFileConfig config;
    private final FakeAllocator allocator;
    private final FakeMemory memory;
    private final FakeSchedule schedule;
    private final long pinnableBytes;
    private final @Nullable Random random;
    private final Map<Long, Integer> flags = new HashMap<>();
    private final Set<FakeOperation> onHostStreams = ConcurrentHashMap.newKeySet();

    FakeGpuBackend(
            CuFileConfig config, FakeMemory memory, FakeSchedule schedule, long pinnableBytes,
            @Nullable Random random) {
        super(new PlainBackend("fake-gpu"));
        this.config = config;
        this.memory = memory;
        this.schedule = schedule;
        this.allocator = new FakeAllocator(memory, schedule);
        this.pinnableBytes = pinnableBytes;
        this.random = random;
    }

    @Override
    public DriverControls controls() {
        return this;
    }

    @Override
    public int getVersion() {
        return VERSION;
    }

    @Override
    public EngineStatistics engineStatistics() {
        return super.controls().engineStatistics();
    }

    @Override
    public long bytesWritten() {
        return super.controls().bytesWritten();
    }

    @Override
    public void driverSetPollMode(boolean poll, long pollThresholdKb) {
        super.controls().driverSetPollMode(poll, pollThresholdKb);
    }

    @Override
    public void driverSetMaxDirectIoSize(long maxDirectIoSizeKb) {
        super.controls().driverSetMaxDirectIoSize(maxDirectIoSizeKb);
    }

    @Override
    public void driverSetMaxCacheSize(long maxCacheSizeKb) {
        super.controls().driverSetMaxCacheSize(maxCacheSizeKb);
    }

    @Override
    public void driverSetMaxPinnedMemSize(long maxPinnedSizeKb) {
        super.controls().driverSetMaxPinnedMemSize(maxPinnedSizeKb);
    }

    @Override
    public MemoryAllocator allocator() {
        return allocator;
    }

    @Override
    public DriverProperties driverGetProperties() {
        DriverProperties plain = super.controls().driverGetProperties();
        return DriverProperties.of(
                plain.nvfsMajorVersion(),
                plain.nvfsMinorVersion(),
                plain.pollThresholdKb(),
                plain.maxDirectIoSizeKb(),
                plain.driverStatusFlags(),
                plain.driverControlFlags(),
                plain.featureFlags(),
                plain.maxDeviceCacheSizeKb(),
                plain.perBufferCacheSizeKb(),
                Math.max(1, pinnableBytes / KIB),
                config.get(CuFileKeys.IO_BATCHSIZE).intValue(),
                plain.maxBatchIoTimeoutMsecs());
    }

    @Override
    public void driverClose() {
        if (useCount() == 1) {
            finish(operation -> operation.isOf(this));
            synchronized (this) {
                flags.clear();
            }
        }
        super.driverClose();
    }

    @Override
    public void handleDeregister(BackendFile file) {
        finish(operation -> operation.uses(file));
        super.handleDeregister(file);
    }

    @Override
    public void bufRegister(MemoryRange range, int bits) {
        if (range.kind().isCuda() && range.length() > 0) {
            memory.bytes(range, "cuFileBufRegister");
        }
        super.bufRegister(range, bits);
    }

    @Override
    public void bufRegisterNow(MemoryRange range, int bits) {
        bufRegister(range, bits);
    }

    @Override
    public long read(BackendFile file, MemoryRange base, long size, long fileOffset, long bufferOffset) {
        return super.read(file, onHost(base, "cuFileRead"), size, fileOffset, bufferOffset);
    }

    @Override
    public long write(BackendFile file, MemoryRange base, long size, long fileOffset, long bufferOffset) {
        return super.write(file, onHost(base, "cuFileWrite"), size, fileOffset, bufferOffset);
    }

    @Override
    public long transfer(BatchRequest request) {
        String function = request.operation().function();
        BatchRequest onHost = request.copies().isEmpty()
                ? new BatchRequest(
                        request.file(), request.operation(), onHost(request.memory(), function), request.size(),
                        request.fileOffset(), request.bufferOffset(), request.cookie())
                : BatchRequest.scattered(
                        request.file(), request.operation(), request.fileOffset(), request.size(),
                        onHost(request.copies(), function));
        return super.transfer(onHost.reportTo(request.sink()));
    }

    private List<ScatterCopy> onHost(List<ScatterCopy> copies, String function) {
        return copies.stream()
                .map(copy -> new ScatterCopy(
                        copy.sourceOffset(),
                        copy.sourcePitch(),
                        copy.width(),
                        copy.rows(),
                        onHost(copy.destination().range(), function),
                        copy.destinationOffset(),
                        copy.destinationPitch()))
                .toList();
    }

    /** Returns the host memory that holds the bytes. */
    private MemoryRange onHost(MemoryRange range, String function) {
        return range.kind().isCuda() ? MemoryRange.ofSegment(memory.bytes(range, function)) : range;
    }

    @Override
    public long readv(BackendFile file, List<MemoryRange> ranges, long fileOffset, int bits) {
        return vectored(Operation.VECTOR_READ, file, ranges, fileOffset, bits);
    }

    @Override
    public long writev(BackendFile file, List<MemoryRange> ranges, long fileOffset, int bits) {
        return vectored(Operation.VECTOR_WRITE, file, ranges, fileOffset, bits);
    }

    private long vectored(
            Operation operation, BackendFile file, List<MemoryRange> ranges, long fileOffset, int bits) {
        return VectorTransfer.run(
                file, operation, ranges, fileOffset, bits,
                (range, offset) -> transfer(new BatchRequest(
                        file, operation.single(), range, range.length(), offset, 0, 0)));
    }

    // ---- batches

    @Override
    public BackendBatch batchIoSetUp(int capacity) {
        long largest = config.get(CuFileKeys.IO_BATCHSIZE);
        if (capacity < 1 || capacity > largest) {
            throw CuFileException.invalid("cuFileBatchIOSetUp",
                    "capacity is %s, allowed: 1 to %s (properties.io_batchsize)".formatted(capacity, largest));
        }
        return new FakeBatch(capacity, this::transfer, random);
    }

    @Override
    public void batchIoSubmit(BackendBatch batch, List<BatchRequest> requests, int bits) {
        FakeBatch ours = own(batch, CuFileError.INTERNAL_BATCH_SUBMIT_ERROR, SUBMIT);
        List<BatchRequest> entries = List.copyOf(requests);
        entries.forEach(this::check);
        ours.submit(entries);
    }

    /** Checks an entry. An invalid entry makes its whole submission fail. */
    private void check(BatchRequest entry) {
        try {
            TransferArguments.check(
                    SUBMIT,
                    entry.file(),
                    entry.memory(),
                    entry.size(),
                    entry.fileOffset(),
                    entry.bufferOffset(),
                    entry.operation());
            onHost(entry.memory(), SUBMIT);
        } catch (CuFileException e) {
            throw CuFileException.builder(SUBMIT)
                    .error(CuFileError.INTERNAL_BATCH_SUBMIT_ERROR)
                    .path(e.path())
                    .range(entry.fileOffset(), entry.size())
                    .detail(e.detail())
                    .cause(e)
                    .build();
        }
    }

    @Override
    public List<BatchEvent> batchIoGetStatus(BackendBatch batch, int minimum, int maximum, Optional<Duration> timeout) {
        return own(batch, CuFileError.INTERNAL_BATCH_GETSTATUS_ERROR, "cuFileBatchIOGetStatus")
                .status(minimum, maximum, timeout);
    }

    @Override
    public void batchIoCancel(BackendBatch batch) {
        if (batch instanceof FakeBatch ours) {
            ours.cancel();
        }
    }

    @Override
    public void batchIoDestroy(BackendBatch batch) {
        if (batch instanceof FakeBatch ours) {
            ours.destroy();
        }
    }

    private static FakeBatch own(BackendBatch batch, CuFileError error, String function) {
        if (batch instanceof FakeBatch ours) {
            return ours;
        }
        throw CuFileException.of(error, function, "not a batch of this driver session: " + batch);
    }

    // ---- streams

    @Override
    public Optional<Executor> find(long stream) {
        Optional<FakeStream> fake = schedule.find(stream);
        return fake.isPresent()
                ? fake.map(found -> found::enqueue)
                : HostStream.find(stream).map(host -> host::enqueue);
    }

    @Override
    public synchronized void streamRegister(long stream, int bits) {
        if ((bits & ~StreamArguments.ALL_FLAGS) != 0) {
            throw CuFileException.invalid(REGISTER_STREAM, "flags are 0x%x, allowed: 0 to 0xf".formatted(bits));
        }
        if (find(stream).isEmpty()) {
            throw unknownStream(REGISTER_STREAM, stream);
        }
        if (flags.putIfAbsent(stream, bits) != null) {
            throw CuFileException.invalid(REGISTER_STREAM, "the stream is registered already");
        }
    }

    @Override
    public void streamDeregister(long stream) {
        synchronized (this) {
            if (flags.remove(stream) == null) {
                throw CuFileException.invalid(DEREGISTER_STREAM, "the stream is not registered");
            }
        }
        finish(operation -> operation.isOf(this) && operation.isOn(stream));
    }

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
        if (!config.get(CuFileKeys.PARALLEL_IO)) {
            throw CuFileException.of(CuFileError.ASYNC_NOT_SUPPORTED, function, "execution.parallel_io is false");
        }
        StreamArguments.checkCells(function, request);
        request.memories().forEach(range -> onHost(range, function));
        FakeOperation queued = new FakeOperation(
                this, request, operation, flags(request.stream()), this::transfer, schedule.misuse());
        try {
            Optional<FakeStream> fake = schedule.find(request.stream());
            if (fake.isPresent()) {
                fake.get().enqueue(queued);
                request.memories().forEach(range -> finishForeign(queued, range));
            } else {
                queueOnHost(queued, request, HostStream.find(request.stream())
                        .orElseThrow(() -> unknownStream(function, request.stream())));
            }
        } catch (IllegalStateException e) {
            throw CuFileException.invalid(function, "the stream is closed");
        }
    }

    private synchronized int flags(long stream) {
        return flags.getOrDefault(stream, 0);
    }

    /** Runs an operation at once if another allocator could free its memory: that one does not run our streams. */
    private void finishForeign(FakeOperation operation, MemoryRange range) {
        if (range.owner().isPresent() && !memory.owns(range)) {
            schedule.finish(queued -> queued == operation);
        }
    }

    private void queueOnHost(FakeOperation operation, StreamRequest request, HostStream stream) {
        List<MemoryRange> memories = request.memories();
        memories.forEach(MemoryRange::retain);
        Undo.ifFails(() -> end(operation, memories), () -> {
            onHostStreams.add(operation);
            stream.enqueue(() -> {
                try {
                    operation.run();
                } finally {
                    end(operation, memories);
                }
            });
        });
    }

    private void end(FakeOperation operation, List<MemoryRange> memories) {
        memories.forEach(MemoryRange::release);
        onHostStreams.remove(operation);
    }

    /** Runs the operations that match, and waits for those on host streams. */
    private void finish(Predicate<FakeOperation> operations) {
        schedule.finish(operations);
        while (onHostStreams.stream().anyMatch(operations)) {
            LockSupport.parkNanos(POLL_NANOS);
        }
    }

    private static CuFileException unknownStream(String function, long stream) {
        return CuFileException.invalid(function,
                "0x%x is no open stream of this fake GPU (FakeGpu.newStream) and no open HostStream".formatted(stream));
    }
}
