package io.gds4j.testkit;

import io.gds4j.CuFileDriver;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BackendBatch;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.FileSource;
import io.gds4j.spi.ForwardingBackend;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A backend that records where files, buffers, batches, streams, drivers and memory were opened. Registrations of a cache, which
 * stay until the driver closes, do not count.
 */
final class WatchedBackend extends ForwardingBackend {
    private final Map<BackendFile, CallSite> files = Collections.synchronizedMap(new IdentityHashMap<>());
    private final Map<BackendBatch, CallSite> batches = Collections.synchronizedMap(new IdentityHashMap<>());
    private final Map<Long, CallSite> buffers = new ConcurrentHashMap<>();
    private final Map<Long, CallSite> streams = new ConcurrentHashMap<>();
    private final List<CallSite> openings = new ArrayList<>();
    private final LeakDetector memory;
    private int users;

    WatchedBackend(CuFileBackend delegate) {
        super(delegate);
        this.memory = new LeakDetector(delegate.allocator());
    }

    /** {@return batches, streams, handles and buffers that are open, with the places where they were opened} */
    List<String> openObjects() {
        List<String> open = new ArrayList<>();
        describe("a CuFileBatch was not closed; opened", batches.values(), open);
        describe("a CuFileStream was not closed; registered", streams.values(), open);
        describe("a CuFileHandle was not closed; opened", files.values(), open);
        describe("a CuFileBuffer was not closed; registered", buffers.values(), open);
        return open;
    }

    /** {@return memory that is allocated, with the places of allocation} */
    List<String> openMemory() {
        return memory.alive().stream().map("memory was not freed: "::concat).toList();
    }

    /** {@return a line for the drivers that are open, and the places of those that may be meant} */
    synchronized List<String> openDrivers() {
        List<String> open = new ArrayList<>();
        if (users > 0) {
            open.add("%s of %s drivers were not closed".formatted(users, openings.size()));
            describe("a CuFileDriver was opened", openings, open);
        }
        return open;
    }

    /** Opens the driver that the extension closes itself; it is not listed. */
    CuFileDriver openOwnDriver() {
        CuFileDriver driver = CuFileDriver.open(this);
        synchronized (this) {
            openings.removeIf(site -> site.isWithin(WatchedBackend.class, "openOwnDriver"));
        }
        return driver;
    }

    private static void describe(String what, Collection<CallSite> sites, List<String> into) {
        List.copyOf(sites).forEach(site -> into.add(site.describe(what)));
    }

    @Override
    public MemoryAllocator allocator() {
        return memory;
    }

    @Override
    public BackendFile handleRegister(FileSource source) {
        BackendFile file = super.handleRegister(source);
        files.put(file, new CallSite());
        return file;
    }

    @Override
    public void handleDeregister(BackendFile file) {
        files.remove(file);
        super.handleDeregister(file);
    }

    @Override
    public void bufRegister(MemoryRange range, int flags) {
        super.bufRegister(range, flags);
        buffers.put(range.address(), new CallSite());
    }

    @Override
    public void bufDeregister(MemoryRange range) {
        buffers.remove(range.address());
        super.bufDeregister(range);
    }

    @Override
    public BackendBatch batchIoSetUp(int capacity) {
        BackendBatch batch = super.batchIoSetUp(capacity);
        batches.put(batch, new CallSite());
        return batch;
    }

    @Override
    public void batchIoDestroy(BackendBatch batch) {
        batches.remove(batch);
        super.batchIoDestroy(batch);
    }

    @Override
    public void streamRegister(long stream, int flags) {
        super.streamRegister(stream, flags);
        streams.put(stream, new CallSite());
    }

    @Override
    public void streamDeregister(long stream) {
        streams.remove(stream);
        super.streamDeregister(stream);
    }

    @Override
    public synchronized void driverOpen() {
        super.driverOpen();
        users++;
        openings.add(new CallSite());
    }

    @Override
    public void driverClose() {
        super.driverClose();
        synchronized (this) {
            users--;
        }
    }
}
