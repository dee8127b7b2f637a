package io.gds4j;

import io.gds4j.config.BoolParameter;
import io.gds4j.config.CuFileParameter;
import io.gds4j.config.DriverProperties;
import io.gds4j.config.ParameterRange;
import io.gds4j.config.SizeParameter;
import io.gds4j.config.SlabArray;
import io.gds4j.config.StringParameter;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BackendBatch;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.BatchEvent;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.BatchStatus;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.DriverControls;
import io.gds4j.spi.FileSource;
import io.gds4j.spi.StreamRequest;
import io.gds4j.statistics.EngineStatistics;
import io.gds4j.statistics.IoPath;
import io.gds4j.statistics.IoPathReport;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;

/** A backend that moves no bytes: it records its calls and runs a test's actions inside them. */
public class RecordingBackend implements CuFileBackend, DriverControls {
    private volatile int statsLevel;
    /** Name and subject of each call, in order. */
    public final List<String> calls = new CopyOnWriteArrayList<>();
    /** Largest number of bytes that a read returns. */
    public volatile long available = Long.MAX_VALUE;
    /** Whether files are open for reading and for writing. */
    public volatile boolean readable = true;
    public volatile boolean writable = true;
    /** Descriptor that files report as their own; -1 for none. */
    public volatile int ownDescriptor = -1;
    /** Name of the backend. */
    public volatile String name = "recording";
    /** Path that serves its files. */
    public volatile IoPath ioPath = IoPath.COMPAT_BUFFERED;

    public final LinkedBlockingQueue<BatchEvent> events = new LinkedBlockingQueue<>();
    private final Map<String, Runnable> actions = new ConcurrentHashMap<>();

    /** Sets an action that runs inside a function before it returns; it may throw. */
    public RecordingBackend during(String function, Runnable action) {
        actions.put(function, action);
        return this;
    }

    private void record(String function, Object about) {
        calls.add(about.equals("") ? function : function + " " + about);
        Runnable action = actions.get(function);
        if (action != null) {
            action.run();
        }
    }

    /** Returns the calls of the named functions. */
    public List<String> callsOf(String... functions) {
        List<String> names = List.of(functions);
        return calls.stream().filter(call -> names.contains(call.split(" ")[0])).toList();
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public MemoryAllocator allocator() {
        return new HeapFreeAllocator();
    }

    @Override
    public DriverControls controls() {
        return this;
    }

    @Override
    public EngineStatistics engineStatistics() {
        return EngineStatistics.of(Map.of(IoPath.COMPAT_BUFFERED, 7L), 0, 4096, 0, 0, "off");
    }

    @Override
    public BackendFile handleRegister(FileSource source) {
        String name = switch (source) {
            case FileSource.Named named -> named.path().toString();
            case FileSource.Descriptor descriptor -> "fd " + descriptor.fd();
            case FileSource.Ranges ranges -> ranges.source().identity();
        };
        record("handleRegister", name);
        return new RecordingFile(name, source instanceof FileSource.Named);
    }

    @Override
    public void handleDeregister(BackendFile file) {
        record("handleDeregister", file);
    }

    @Override
    public void bufRegister(MemoryRange range, int flags) {
        record("bufRegister", range.length() + (flags == 0 ? "" : " flags " + flags));
    }

    @Override
    public void bufDeregister(MemoryRange range) {
        record("bufDeregister", range.length());
    }

    @Override
    public long read(BackendFile file, MemoryRange base, long size, long fileOffset, long bufferOffset) {
        record("read", "%s %d %d %d".formatted(file, size, fileOffset, bufferOffset));
        return Math.min(size, available);
    }

    @Override
    public long write(BackendFile file, MemoryRange base, long size, long fileOffset, long bufferOffset) {
        record("write", "%s %d %d %d".formatted(file, size, fileOffset, bufferOffset));
        return size;
    }

    @Override
    public void driverOpen() {
        record("driverOpen", "");
    }

    @Override
    public void driverClose() {
        record("driverClose", "");
    }

    @Override
    public DriverProperties driverGetProperties() {
        record("driverGetProperties", "");
        return DriverProperties.of(0, 0, 4, 16384, 0, 2, 8, 131072, 1024, 33554432, 128, 5);
    }

    @Override
    public void driverSetPollMode(boolean poll, long pollThresholdKb) {
        record("driverSetPollMode", poll + " " + pollThresholdKb);
    }

    @Override
    public void driverSetMaxDirectIoSize(long maxDirectIoSizeKb) {
        record("driverSetMaxDirectIoSize", maxDirectIoSizeKb);
    }

    @Override
    public void driverSetMaxCacheSize(long maxCacheSizeKb) {
        record("driverSetMaxCacheSize", maxCacheSizeKb);
    }

    @Override
    public void driverSetMaxPinnedMemSize(long maxPinnedSizeKb) {
        record("driverSetMaxPinnedMemSize", maxPinnedSizeKb);
    }

    @Override
    public BackendBatch batchIoSetUp(int capacity) {
        record("batchIoSetUp", capacity);
        return () -> capacity;
    }

    @Override
    public void batchIoSubmit(BackendBatch batch, List<BatchRequest> requests, int flags) {
        record("batchIoSubmit", requests.size());
        for (BatchRequest request : requests) {
            events.add(new BatchEvent(request.cookie(), BatchStatus.COMPLETE, request.size()));
        }
    }

    @Override
    public List<BatchEvent> batchIoGetStatus(BackendBatch batch, int minimum, int maximum, Optional<Duration> timeout) {
        record("batchIoGetStatus", minimum);
        List<BatchEvent> taken = new ArrayList<>();
        events.drainTo(taken, maximum);
        return taken;
    }

    @Override
    public void batchIoCancel(BackendBatch batch) {
        record("batchIoCancel", "");
    }

    @Override
    public void batchIoDestroy(BackendBatch batch) {
        record("batchIoDestroy", "");
    }

    @Override
    public void readAsync(StreamRequest request) {
        record("readAsync", request.file());
    }

    @Override
    public void writeAsync(StreamRequest request) {
        record("writeAsync", request.file());
    }

    @Override
    public void streamRegister(long stream, int flags) {
        record("streamRegister", stream + " flags " + flags);
    }

    @Override
    public void streamDeregister(long stream) {
        record("streamDeregister", stream);
    }

    @Override
    public int getVersion() {
        return 1150;
    }

    @Override
    public <T> T getParameter(CuFileParameter<T> parameter) {
        record(parameter.getter().replace("cuFileG", "g"), parameter);
        return parameter.key().type().cast(switch (parameter) {
            case SizeParameter ignored -> 1L;
            case BoolParameter ignored -> true;
            case StringParameter ignored -> "ERROR";
        });
    }

    @Override
    public ParameterRange getParameterMinMaxValue(SizeParameter parameter) {
        record("getParameterMinMaxValue", parameter);
        return new ParameterRange(1, 2);
    }

    @Override
    public void setStatsLevel(int level) {
        record("setStatsLevel", level);
        statsLevel = level;
    }

    @Override
    public int getStatsLevel() {
        return statsLevel;
    }

    @Override
    public void statsStart() {
        record("statsStart", "");
    }

    @Override
    public void statsStop() {
        record("statsStop", "");
    }

    @Override
    public void statsReset() {
        record("statsReset", "");
    }

    @Override
    public long getBarSizeInKb(int gpu) {
        record("getBarSizeInKb", gpu);
        return 0;
    }

    @Override
    public SlabArray getParameterPosixPoolSlabArray() {
        record("getParameterPosixPoolSlabArray", "");
        return new SlabArray(List.of(4L), List.of(1L));
    }

    @Override
    public long readv(BackendFile file, List<MemoryRange> ranges, long fileOffset, int flags) {
        record("readv", ranges.size() + " " + fileOffset);
        return ranges.stream().mapToLong(MemoryRange::length).sum();
    }

    @Override
    public long writev(BackendFile file, List<MemoryRange> ranges, long fileOffset, int flags) {
        record("writev", ranges.size() + " " + fileOffset);
        return ranges.stream().mapToLong(MemoryRange::length).sum();
    }

    private final class RecordingFile implements BackendFile {
        private final String name;
        private final boolean named;

        RecordingFile(String name, boolean named) {
            this.name = name;
            this.named = named;
        }

        @Override
        public Optional<Path> path() {
            return named ? Optional.of(Path.of(name)) : Optional.empty();
        }

        @Override
        public boolean isReadable() {
            return readable;
        }

        @Override
        public boolean isWritable() {
            return writable;
        }

        @Override
        public long size() {
            record("size", name);
            return 12345;
        }

        @Override
        public IoPathReport ioPath() {
            return new IoPathReport(ioPath, "the test says so");
        }

        @Override
        public OptionalInt ownDescriptor() {
            return ownDescriptor < 0 ? OptionalInt.empty() : OptionalInt.of(ownDescriptor);
        }

        @Override
        public void force(boolean metadata) {
            record("force", name + " " + metadata);
        }

        @Override
        public void truncate(long size) {
            record("truncate", name + " " + size);
        }

        @Override
        public String toString() {
            return name;
        }
    }

    private final class HeapFreeAllocator implements NoMemory {
        @Override
        public boolean supports(MemoryKind kind) {
            return kind == MemoryKind.HOST;
        }

        @Override
        public MemoryAllocation allocate(MemoryKind kind, long size, int device) {
            Arena arena = Arena.ofShared();
            return MemoryAllocation.of(MemoryRange.ofSegment(arena.allocate(size)), () -> {
                record("free", size);
                arena.close();
            });
        }

        @Override
        public long available(MemoryKind kind, int device) {
            return Long.MAX_VALUE;
        }
    }
}
