package io.gds4j.spi;

import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryRange;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * A backend that forwards every call to another one, whose {@link #controls} are its own; a base for backends that change a few calls. A read or write with a report, such as each
 * of a load or a save, is a {@link #transfer}; without one it is a {@link #read} or {@link #write}.
 *
 * @since 0.1
 */
public abstract class ForwardingBackend implements CuFileBackend {
    private final CuFileBackend delegate;

    /**
     * Forwards to one backend.
     *
     * @param delegate the backend that serves the calls
     */
    protected ForwardingBackend(CuFileBackend delegate) {
        this.delegate = Objects.requireNonNull(delegate, "delegate");
    }

    /** {@return the backend that serves the calls} */
    protected final CuFileBackend delegate() {
        return delegate;
    }

    @Override
    public String name() {
        return delegate.name();
    }

    @Override
    public MemoryAllocator allocator() {
        return delegate.allocator();
    }

    @Override
    public DriverControls controls() {
        return delegate.controls();
    }

    @Override
    public BackendFile handleRegister(FileSource source) {
        return delegate.handleRegister(source);
    }

    @Override
    public void handleDeregister(BackendFile file) {
        delegate.handleDeregister(file);
    }

    @Override
    public void bufRegister(MemoryRange range, int flags) {
        delegate.bufRegister(range, flags);
    }

    @Override
    public void bufRegisterNow(MemoryRange range, int flags) {
        delegate.bufRegisterNow(range, flags);
    }

    @Override
    public void bufDeregister(MemoryRange range) {
        delegate.bufDeregister(range);
    }

    @Override
    public long read(BackendFile file, MemoryRange base, long size, long fileOffset, long bufferOffset) {
        return delegate.read(file, base, size, fileOffset, bufferOffset);
    }

    @Override
    public long transfer(BatchRequest request) {
        return delegate.transfer(request);
    }

    @Override
    public MemoryAllocation stage(MemoryRange destination, long bytes) {
        return delegate.stage(destination, bytes);
    }

    @Override
    public long write(BackendFile file, MemoryRange base, long size, long fileOffset, long bufferOffset) {
        return delegate.write(file, base, size, fileOffset, bufferOffset);
    }

    @Override
    public void driverOpen() {
        delegate.driverOpen();
    }

    @Override
    public void driverClose() {
        delegate.driverClose();
    }

    @Override
    public long useCount() {
        return delegate.useCount();
    }

    @Override
    public BackendBatch batchIoSetUp(int capacity) {
        return delegate.batchIoSetUp(capacity);
    }

    @Override
    public void batchIoSubmit(BackendBatch batch, List<BatchRequest> requests, int flags) {
        delegate.batchIoSubmit(batch, requests, flags);
    }

    @Override
    public List<BatchEvent> batchIoGetStatus(BackendBatch batch, int minimum, int maximum, Optional<Duration> timeout) {
        return delegate.batchIoGetStatus(batch, minimum, maximum, timeout);
    }

    @Override
    public void batchIoCancel(BackendBatch batch) {
        delegate.batchIoCancel(batch);
    }

    @Override
    public void batchIoDestroy(BackendBatch batch) {
        delegate.batchIoDestroy(batch);
    }

    @Override
    public void readAsync(StreamRequest request) {
        delegate.readAsync(request);
    }

    @Override
    public void writeAsync(StreamRequest request) {
        delegate.writeAsync(request);
    }

    @Override
    public void streamRegister(long stream, int flags) {
        delegate.streamRegister(stream, flags);
    }

    @Override
    public void streamDeregister(long stream) {
        delegate.streamDeregister(stream);
    }

    @Override
    public boolean waitsForDisk(BackendFile file, long fileOffset, long size) {
        return delegate.waitsForDisk(file, fileOffset, size);
    }

    @Override
    public long readv(BackendFile file, List<MemoryRange> ranges, long fileOffset, int flags) {
        return delegate.readv(file, ranges, fileOffset, flags);
    }

    @Override
    public long writev(BackendFile file, List<MemoryRange> ranges, long fileOffset, int flags) {
        return delegate.writev(file, ranges, fileOffset, flags);
    }
}
