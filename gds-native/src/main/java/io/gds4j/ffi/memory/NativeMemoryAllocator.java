package io.gds4j.ffi.memory;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.Optional;

/**
 * Memory of every kind that this machine has, over libc and the CUDA driver. Works without a driver: host kinds alone, and
 * no CUDA context because of them.
 */
public final class NativeMemoryAllocator implements MemoryAllocator {
    private static final String ALLOCATE = "MemoryAllocator.allocate";
    private static final String COPY = "MemoryAllocator.copy";

    private final CudaAvailability availability;
    private final HostMemory host;
    private final AvailableHostMemory availableHost = new AvailableHostMemory();

    /** Over the given libc and, where there is one, CUDA driver. */
    public NativeMemoryAllocator(Posix posix, CudaAvailability availability) {
        this.availability = Objects.requireNonNull(availability, "availability");
        this.host = new HostMemory(posix);
    }

    @Override
    public boolean supports(MemoryKind kind) {
        return switch (kind) {
            case HOST, HOST_HUGEPAGE -> true;
            default -> false;
        };
    }

    @Override
    public MemoryAllocation allocate(MemoryKind kind, long size, int device) {
        if (size < 1) {
            throw CuFileException.of(CuFileError.INVALID_VALUE, ALLOCATE, "size is " + size + ", allowed is 1 or more");
        }
        return switch (kind) {
            case HOST, HOST_HUGEPAGE -> host.allocate(kind, size);
            default -> throw lacking(kind);
        };
    }

    /** Pages behind a host allocation of this allocator; empty for other memory. */
    public Optional<HostPages> pages(MemoryAllocation allocation) {
        return host.pages(allocation.range().address());
    }

    @Override
    public void copyToHost(MemoryRange from, MemorySegment to) {
        long size = to.byteSize();
        checkFits(from, size);
        MemorySegment.copy(hostView(from), 0, to, 0, size);
    }

    @Override
    public void copyFromHost(MemorySegment from, MemoryRange to) {
        long size = from.byteSize();
        checkFits(to, size);
        MemorySegment.copy(from, 0, hostView(to), 0, size);
    }

    @Override
    public void copy(MemoryRange from, MemoryRange to) {
        checkFits(to, from.length());
        MemorySegment.copy(hostView(from), 0, hostView(to), 0, from.length());
    }

    @Override
    public void fill(MemoryRange range, byte value) {
        hostView(range).fill(value);
    }

    @Override
    public long available(MemoryKind kind, int device) {
        return switch (kind) {
            case HOST, HOST_HUGEPAGE -> availableHost.bytes();
            default -> throw lacking(kind);
        };
    }

    private MemorySegment hostView(MemoryRange range) {
        if (!range.kind().isHost()) {
            throw lacking(range.kind());
        }
        return HostMemoryViews.of(range);
    }

    private CuFileException lacking(MemoryKind kind) {
        String why = availability instanceof CudaAvailability.Unavailable none
                ? ": " + none.reason() + "; " + none.remedy()
                : "";
        return CuFileException.of(
                CuFileError.CUDA_MEMORY_TYPE_INVALID, ALLOCATE, "this machine has no " + kind + " memory" + why);
    }

    private static void checkFits(MemoryRange range, long size) {
        if (size > range.length()) {
            throw CuFileException.of(
                    CuFileError.CUDA_POINTER_RANGE_ERROR,
                    COPY,
                    "%d bytes do not fit into a range of %d bytes".formatted(size, range.length()));
        }
    }
}
