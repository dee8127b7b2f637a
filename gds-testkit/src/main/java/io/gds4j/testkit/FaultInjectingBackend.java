package io.gds4j.testkit;

import io.gds4j.HostStream;
import io.gds4j.error.CuFileError;
import io.gds4j.internal.lifetime.Undo;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BackendBatch;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.BatchEvent;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.BatchStatus;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.FileSource;
import io.gds4j.spi.ForwardingBackend;
import io.gds4j.spi.StreamRequest;
import io.gds4j.testkit.PlannedFault.Failure;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;

/**
 * A backend that delegates to another one and injects faults, to test how a program handles a full disk, a bad block or
 * a slow device.
 *
 * <pre>{@code
 * FaultInjectingBackend backend = new FaultInjectingBackend(new ReferenceBackend());
 * backend.on(Call.WRITE).nth(3).fails(Errno.ENOSPC);
 * backend.on(Call.FSYNC).always().delays(Duration.ofMillis(20));
 * try (CuFileDriver driver = CuFileDriver.open(backend)) {
 *     saveCheckpoint(driver, path);     // its third write fails: disk full
 * }
 * backend.verify();                     // fails if a planned fault never happened
 * }</pre>
 *
 * <p>
 * A fault of a batch entry is reported by its completion; latency and gates delay the call that submits it. A fault of a stream
 * operation happens in stream order on a {@link io.gds4j.HostStream} and on a {@link FakeStream}; on a CUDA stream the submitting
 * call fails.
 *
 * <p>
 * If several faults hit a call, it waits for all of them and fails as the one that was planned last. Thread-safe.
 *
 * @since 0.1
 */
public final class FaultInjectingBackend extends ForwardingBackend {
    private final FaultPlan plan = new FaultPlan();
    private final FaultyStreams streams;
    private final Map<Long, Gate> heldReads = new ConcurrentHashMap<>();
    private final Map<Long, Gate> heldWrites = new ConcurrentHashMap<>();

    /** Creates a backend that delegates to {@code delegate}. */
    public FaultInjectingBackend(CuFileBackend delegate) {
        super(delegate);
        this.streams = new FaultyStreams(plan,
                delegate instanceof StreamsForWork own ? own : FaultInjectingBackend::hostStream);
    }

    private static Optional<Executor> hostStream(long address) {
        return HostStream.find(address).map(stream -> stream::enqueue);
    }

    /**
     * Plans a fault of one kind of call. It takes effect when its outcome is chosen.
     *
     * @param call kind of call
     * @return the fault, for filters and an outcome
     */
    public PlannedFault on(Call call) {
        return plan.add(EnumSet.of(call));
    }

    /**
     * Plans a fault of several kinds of calls, such as {@link Call#reads()}. It takes effect when its outcome is chosen.
     *
     * @param calls kinds of calls, at least one
     * @return the fault, for filters and an outcome
     * @throws IllegalArgumentException if there are no calls
     */
    public PlannedFault on(Set<Call> calls) {
        return plan.add(calls);
    }

    /**
     * Returns how many calls of one kind have started: forwarded, delayed or failed.
     *
     * @param call kind of call
     * @return number of calls; each entry of a batch counts
     */
    public long count(Call call) {
        return plan.count(call);
    }

    /** {@return the planned faults that have hit no call, in words} */
    public List<String> unfired() {
        return plan.all().stream().filter(fault -> fault.hits() == 0).map(PlannedFault::toString).toList();
    }

    /**
     * Checks that every planned fault has hit at least one call.
     *
     * @throws AssertionError with the faults that have not
     */
    public void verify() {
        List<String> left = unfired();
        if (!left.isEmpty()) {
            throw new AssertionError("%s planned faults never happened:\n    %s"
                    .formatted(left.size(), String.join("\n    ", left)));
        }
    }

    /** Makes the {@code nth} read fail with this errno before it moves a byte. */
    public void failRead(long nth, int errno) {
        failRead(nth, errno, 0);
    }

    /** Makes the {@code nth} read move up to {@code bytes} bytes and then fail with this errno. */
    public void failRead(long nth, int errno, long bytes) {
        fail(Call.READ, nth, errno, bytes);
    }

    /** Makes the {@code nth} write fail with this errno before it moves a byte. */
    public void failWrite(long nth, int errno) {
        failWrite(nth, errno, 0);
    }

    /** Makes the {@code nth} write move {@code bytes} bytes and then fail with this errno. */
    public void failWrite(long nth, int errno, long bytes) {
        fail(Call.WRITE, nth, errno, bytes);
    }

    /** Makes the {@code nth} file registration fail with this errno. */
    public void failRegistration(long nth, int errno) {
        fail(Call.OPEN, nth, errno, 0);
    }

    private void fail(Call call, long nth, int errno, long bytes) {
        checkFuture(call, nth);
        if (errno <= 0 || bytes < 0) {
            throw new IllegalArgumentException("errno %s, bytes %s".formatted(errno, bytes));
        }
        on(call).numbered(nth).after(bytes).fails(errno);
    }

    /**
     * Makes the {@code nth} registration of memory fail with this code, such as those of a driver without room
     * (INVALID_MAPPING_SIZE, GPU_MEMORY_PINNING_FAILED, NOMEM_ERROR).
     */
    public void failBufferRegistration(long nth, CuFileError error) {
        Objects.requireNonNull(error, "error");
        checkFuture(Call.REGISTER, nth);
        on(Call.REGISTER).numbered(nth).fails(error);
    }

    /** Makes the {@code nth} read wait at the returned gate before it moves a byte. */
    public Gate holdRead(long nth) {
        checkFuture(Call.READ, nth);
        return heldReads.computeIfAbsent(nth, number -> on(Call.READ).numbered(number).holds());
    }

    /** Makes the {@code nth} write wait at the returned gate before it moves a byte. */
    public Gate holdWrite(long nth) {
        checkFuture(Call.WRITE, nth);
        return heldWrites.computeIfAbsent(nth, number -> on(Call.WRITE).numbered(number).holds());
    }

    private void checkFuture(Call call, long nth) {
        if (nth <= count(call)) {
            throw new IllegalArgumentException("call %s is past: %s have started".formatted(nth, count(call)));
        }
    }

    /** Returns the number of reads that have started. */
    public long readCount() {
        return count(Call.READ);
    }

    /** Returns the number of writes that have started. */
    public long writeCount() {
        return count(Call.WRITE);
    }

    /** Returns the number of file registrations that have started. */
    public long registrationCount() {
        return count(Call.OPEN);
    }

    /** Returns the number of memory registrations that have started. */
    public long bufferRegistrationCount() {
        return count(Call.REGISTER);
    }

    @Override
    public MemoryAllocator allocator() {
        return new FaultyAllocator(super.allocator(), plan);
    }

    @Override
    public BackendFile handleRegister(FileSource source) {
        Optional<Path> path = switch (source) {
            case FileSource.Named named -> Optional.of(named.path());
            case FileSource.Descriptor ignored -> Optional.empty();
            case FileSource.Ranges ranges -> ranges.path();
        };
        plan.pass(Call.OPEN, Call.OPEN.function(), path, -1, -1);
        return new FaultyFile(super.handleRegister(source), plan);
    }

    @Override
    public void handleDeregister(BackendFile file) {
        Failure failure = plan.begin(Call.CLOSE, file.path());
        super.handleDeregister(own(file));
        if (failure != null) {
            throw failure.exception(Call.CLOSE.function()).path(file.path()).build();
        }
    }

    /** {@return the delegate's file} */
    private BackendFile own(BackendFile file) {
        return file instanceof FaultyFile faulty && faulty.plan() == plan ? faulty.delegate() : file;
    }

    @Override
    public void bufRegister(MemoryRange range, int flags) {
        plan.pass(Call.REGISTER, Call.REGISTER.function(), Optional.empty(), -1, range.length());
        super.bufRegister(range, flags);
    }

    @Override
    public void bufRegisterNow(MemoryRange range, int flags) {
        plan.pass(Call.REGISTER, Call.REGISTER.function(), Optional.empty(), -1, range.length());
        super.bufRegisterNow(range, flags);
    }

    /** Moves a number of bytes. */
    private interface Transfer {
        long move(long bytes);
    }

    private long transfer(Call call, BackendFile file, long size, long fileOffset, Transfer transfer) {
        Failure failure = plan.begin(call, file.path());
        if (failure == null) {
            return transfer.move(size);
        }
        long part = Math.min(size, failure.bytes());
        long moved = part == 0 ? 0 : transfer.move(part);
        throw failure.exception(call.function())
                .range(fileOffset, size)
                .transferred(moved)
                .path(file.path())
                .build();
    }

    @Override
    public long read(BackendFile file, MemoryRange base, long size, long fileOffset, long bufferOffset) {
        return transfer(Call.READ, file, size, fileOffset,
                bytes -> super.read(own(file), base, bytes, fileOffset, bufferOffset));
    }

    /** A planned delay of reads counts as a slow disk. */
    @Override
    public boolean waitsForDisk(BackendFile file, long fileOffset, long size) {
        return plan.slows(Call.READ, file.path()) || super.waitsForDisk(own(file), fileOffset, size);
    }

    @Override
    public long transfer(BatchRequest request) {
        Call call = request.write() ? Call.WRITE : Call.READ;
        return transfer(call, request.file(), request.size(), request.fileOffset(), bytes -> {
            BatchRequest part = request.at(own(request.file())).first(bytes);
            return part.size() == 0 && bytes > 0 ? bytes : super.transfer(part);
        });
    }

    @Override
    public long write(BackendFile file, MemoryRange base, long size, long fileOffset, long bufferOffset) {
        return transfer(Call.WRITE, file, size, fileOffset,
                bytes -> super.write(own(file), base, bytes, fileOffset, bufferOffset));
    }

    @Override
    public long readv(BackendFile file, List<MemoryRange> ranges, long fileOffset, int flags) {
        return transfer(Call.READV, file, total(ranges), fileOffset,
                bytes -> super.readv(own(file), first(ranges, bytes), fileOffset, flags));
    }

    @Override
    public long writev(BackendFile file, List<MemoryRange> ranges, long fileOffset, int flags) {
        return transfer(Call.WRITEV, file, total(ranges), fileOffset,
                bytes -> super.writev(own(file), first(ranges, bytes), fileOffset, flags));
    }

    private static long total(List<MemoryRange> ranges) {
        return ranges.stream().mapToLong(MemoryRange::length).sum();
    }

    /** {@return the ranges of the first bytes; the same list for all of them} */
    private static List<MemoryRange> first(List<MemoryRange> ranges, long bytes) {
        if (bytes == total(ranges)) {
            return ranges;
        }
        List<MemoryRange> part = new ArrayList<>();
        long left = bytes;
        for (MemoryRange range : ranges) {
            long length = Math.min(left, range.length());
            if (length > 0) {
                part.add(range.slice(0, length));
            }
            left -= length;
        }
        return part;
    }

    @Override
    public BackendBatch batchIoSetUp(int capacity) {
        return new FaultyBatch(super.batchIoSetUp(capacity));
    }

    @Override
    public void batchIoSubmit(BackendBatch batch, List<BatchRequest> requests, int flags) {
        if (!(batch instanceof FaultyBatch faulty)) {
            super.batchIoSubmit(batch, requests, flags);
            return;
        }
        Undo.ifFails(() -> faulty.forget(requests), () -> {
            List<BatchRequest> entries = new ArrayList<>(requests.size());
            for (BatchRequest request : requests) {
                entries.add(faulty.entry(request, own(request.file()), plan));
            }
            super.batchIoSubmit(faulty.delegate(), entries, flags);
        });
    }

    @Override
    public List<BatchEvent> batchIoGetStatus(BackendBatch batch, int minimum, int maximum, Optional<Duration> timeout) {
        List<BatchEvent> events = super.batchIoGetStatus(own(batch), minimum, maximum, timeout);
        return batch instanceof FaultyBatch faulty && !faulty.failures().isEmpty()
                ? events.stream().map(faulty::event).toList()
                : events;
    }

    @Override
    public void batchIoCancel(BackendBatch batch) {
        super.batchIoCancel(own(batch));
    }

    @Override
    public void batchIoDestroy(BackendBatch batch) {
        super.batchIoDestroy(own(batch));
    }

    private static BackendBatch own(BackendBatch batch) {
        return batch instanceof FaultyBatch faulty ? faulty.delegate() : batch;
    }

    @Override
    public void readAsync(StreamRequest request) {
        streams.queue(Call.STREAM_READ, request.at(own(request.file())), super::readAsync);
    }

    @Override
    public void writeAsync(StreamRequest request) {
        streams.queue(Call.STREAM_WRITE, request.at(own(request.file())), super::writeAsync);
    }

    /**
     * A batch of another backend, some of whose entries fail. The other backend moves the bytes that such an entry may move, so the
     * order of entries, the waits and cancelling stay as they are; only the event changes.
     */
    private record FaultyBatch(BackendBatch delegate, Map<Long, Failure> failures) implements BackendBatch {
        FaultyBatch(BackendBatch delegate) {
            this(delegate, new ConcurrentHashMap<>());
        }

        @Override
        public int capacity() {
            return delegate.capacity();
        }

        /** {@return the request for the other backend: with its own file, and short if the entry has to fail} */
        BatchRequest entry(BatchRequest request, BackendFile target, FaultPlan plan) {
            Failure failure = plan.begin(request.write() ? Call.BATCH_WRITE : Call.BATCH_READ, target.path());
            long size = request.size();
            if (failure != null) {
                failures.put(request.cookie(), failure);
                size = Math.min(size, failure.bytes());
            }
            return request.at(target).first(size);
        }

        /** Forgets entries that the other backend refused. */
        void forget(List<BatchRequest> requests) {
            requests.forEach(request -> failures.remove(request.cookie()));
        }

        /** {@return the event that the program sees} */
        BatchEvent event(BatchEvent event) {
            Failure failure = failures.remove(event.cookie());
            return failure == null || event.status() == BatchStatus.CANCELED
                    ? event
                    : new BatchEvent(event.cookie(), BatchStatus.FAILED, failure.result());
        }
    }
}
