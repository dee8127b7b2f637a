package io.gds4j.testkit;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.file.Pages;
import io.gds4j.internal.memory.MemoryAccess;
import io.gds4j.internal.memory.SegmentChecks;
import io.gds4j.internal.plain.PlainAllocator;
import io.gds4j.memory.AllocationTag;
import io.gds4j.memory.DmaBuf;
import io.gds4j.memory.GrowableMemory;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.MemoryUsage;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.util.Map;
import java.util.Optional;

/** Allocates memory of every kind: GPU memory of a {@link FakeMemory}, and host memory of arenas. */
final class FakeAllocator implements MemoryAllocator {
    private static final String ALLOCATE = "MemoryAllocator.allocate";
    private static final String COPY = "MemoryAllocator.copy";
    private static final String PIN = "MemoryAllocator.pin";
    private static final String PREFETCH = "MemoryAllocator.prefetch";
    private static final String EXPORT = "cuMemGetHandleForAddressRange";
    private static final long HUGE_PAGE = 2 << 20;

    private final FakeMemory memory;
    private final FakeSchedule schedule;

    FakeAllocator(FakeMemory memory, FakeSchedule schedule) {
        this.memory = memory;
        this.schedule = schedule;
    }

    @Override
    public boolean supports(MemoryKind kind) {
        return true;
    }

    @Override
    public MemoryAllocation allocate(MemoryKind kind, long size, int device) {
        if (size < 1) {
            throw CuFileException.invalid(ALLOCATE, "size is " + size + ", allowed is 1 or more");
        }
        if (kind.isHost()) {
            long alignment = kind == MemoryKind.HOST_HUGEPAGE ? HUGE_PAGE : Pages.SIZE;
            return MemoryAccess.copiedBy(this, PlainAllocator.hostMemory(kind, size, alignment, this::host));
        }
        FakeMemory.Region region = memory.allocate(kind, size, device, ALLOCATE);
        FakeMemory in = memory;
        FakeSchedule streams = schedule;
        MemoryRange range = MemoryRange.ofAddress(region.address(), size, kind, device);
        return MemoryAccess.copiedBy(this, MemoryAllocation.of(range, () -> {
            streams.finishMemory(region.address(), size);
            in.free(region);
        }));
    }

    private MemoryAllocation host(MemoryRange range, Runnable free) {
        FakeMemory.Region region = memory.addHost(range);
        FakeMemory in = memory;
        FakeSchedule streams = schedule;
        return MemoryAllocation.of(range, () -> {
            streams.finishMemory(region.address(), region.length());
            in.free(region);
            free.run();
        });
    }

    @Override
    public MemoryAllocation pin(MemorySegment segment) {
        MemoryRange range = MemoryRange.ofSegment(segment, MemoryKind.HOST_REGISTERED);
        if (range.length() == 0) {
            throw CuFileException.invalid(PIN, "the segment is empty");
        }
        range.checkAccess();
        if (memory.overlapsHost(range)) {
            throw CuFileException.of(
                    CuFileError.MEMORY_ALREADY_REGISTERED, PIN, "pages of the segment are pinned already");
        }
        return MemoryAccess.copiedBy(this, host(range, () -> Reference.reachabilityFence(segment)));
    }

    @Override
    public GrowableMemory growable(long maximum, int device) {
        if (maximum < 1) {
            throw CuFileException.invalid(ALLOCATE, "maximum is " + maximum + ", allowed is 1 or more");
        }
        return new FakeGrowth(this, memory, schedule, maximum, device);
    }

    @Override
    public void copyToHost(MemoryRange from, MemorySegment to) {
        checkRoom(to.byteSize(), from.length());
        SegmentChecks.writable(to);
        copy(from.slice(0, to.byteSize()), to, true);
    }

    @Override
    public void copyFromHost(MemorySegment from, MemoryRange to) {
        checkRoom(from.byteSize(), to.length());
        checkWritable(to);
        SegmentChecks.readable(from);
        copy(to.slice(0, from.byteSize()), from, false);
    }

    private void copy(MemoryRange range, MemorySegment host, boolean toHost) {
        range.retain();
        try {
            MemorySegment bytes = bytes(range, COPY);
            SegmentChecks.whileOpen(
                    () -> MemorySegment.copy(toHost ? bytes : host, 0, toHost ? host : bytes, 0, host.byteSize()));
        } finally {
            range.release();
        }
    }

    @Override
    public void copy(MemoryRange from, MemoryRange to) {
        checkRoom(from.length(), to.length());
        checkWritable(to);
        from.retain();
        try {
            copyFromHost(bytes(from, COPY), to);
        } finally {
            from.release();
        }
    }

    @Override
    public void fill(MemoryRange range, byte value) {
        checkWritable(range);
        range.retain();
        try {
            SegmentChecks.whileOpen(() -> bytes(range, "MemoryAllocator.fill").fill(value));
        } finally {
            range.release();
        }
    }

    /** {@return the bytes of GPU memory, or of host memory that has a segment} */
    MemorySegment bytes(MemoryRange range, String function) {
        return range.kind().isCuda() ? memory.bytes(range, function) : PlainAllocator.segment(range, function);
    }

    private static void checkRoom(long bytes, long room) {
        if (bytes > room) {
            throw CuFileException.of(
                    CuFileError.CUDA_POINTER_RANGE_ERROR, COPY, "%s bytes do not fit %s".formatted(bytes, room));
        }
    }

    private static void checkWritable(MemoryRange range) {
        if (!range.isWritable()) {
            throw CuFileException.invalid(COPY, range + " is read-only");
        }
    }

    @Override
    public long available(MemoryKind kind, int device) {
        return kind.isHost() ? Runtime.getRuntime().maxMemory() : memory.available(device, "cuMemGetInfo");
    }

    @Override
    public Optional<AllocationTag> allocationOf(MemoryRange range) {
        return memory.tag(range.address());
    }

    @Override
    public boolean isCurrent(AllocationTag tag) {
        return memory.tag(tag.base()).filter(tag::equals).isPresent();
    }

    @Override
    public MemoryRange wrap(long address, long length) {
        return memory.wrap(address, length, "MemoryAllocator.wrap");
    }

    @Override
    public void prefetch(MemoryRange range, int device) {
        if (range.kind() != MemoryKind.CUDA_MANAGED) {
            throw CuFileException.of(CuFileError.CUDA_MEMORY_TYPE_INVALID, PREFETCH, "not managed memory: " + range);
        }
        if (device != MemoryRange.NO_DEVICE) {
            memory.checkDevice(device, PREFETCH);
        }
        memory.bytes(range, PREFETCH);
    }

    @Override
    public DmaBuf exportDmaBuf(MemoryRange range) {
        throw CuFileException.of(
                range.kind() == MemoryKind.CUDA_DEVICE || range.kind() == MemoryKind.CUDA_VMM
                        ? CuFileError.IO_NOT_SUPPORTED
                        : CuFileError.CUDA_MEMORY_TYPE_INVALID,
                EXPORT,
                "a fake GPU exports no memory: " + range);
    }

    @Override
    public boolean flushDeviceWrites(int device) {
        memory.checkDevice(device, "cuFlushGPUDirectRDMAWrites");
        return false;
    }

    @Override
    public Map<MemoryKind, MemoryUsage> usage() {
        return memory.usage();
    }
}
