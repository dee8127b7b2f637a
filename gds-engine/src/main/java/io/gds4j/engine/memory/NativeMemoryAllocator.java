package io.gds4j.engine.memory;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.internal.memory.MemoryAccess;
import io.gds4j.internal.memory.SegmentChecks;
import io.gds4j.memory.AllocationTag;
import io.gds4j.memory.DmaBuf;
import io.gds4j.memory.GrowableMemory;
import io.gds4j.memory.HostPages;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.MemoryUsage;
import java.lang.foreign.MemorySegment;
import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;
import java.util.Optional;

/**
 * Allocates memory of every kind that this machine has, over libc and the CUDA driver. Without a driver it has the host kinds alone.
 * Host kinds create no CUDA context.
 *
 * <p>
 * Closing it frees the streams that it keeps for copies, but no allocation; it works on afterwards. Streams of an allocator that is
 * not closed live as long as their contexts.
 */
public final class NativeMemoryAllocator implements MemoryAllocator, AutoCloseable {
    private static final String ALLOCATE = "MemoryAllocator.allocate";
    private static final String COPY = "MemoryAllocator.copy";
    private static final String EXPORT = "cuMemGetHandleForAddressRange";
    private static final String SYNCHRONIZE = "cuStreamSynchronize";
    /** CU_STREAM_PER_THREAD; smaller handles are default streams, too. */
    private static final long LAST_DEFAULT_STREAM = 2;
    private static final String PREFETCH = "MemoryAllocator.prefetch";

    private final CudaAvailability availability;
    private final HostMemory host;
    private final Optional<CudaMemory> cuda;
    private final Optional<CudaStreams> streams;
    private final MemoryCopies copies;
    private final Optional<AllocationTags> tags;
    private final ForeignMemory foreign;
    private final Optional<DmaBufExports> exports;
    private final MemoryAccounts accounts = new MemoryAccounts();
    private final AvailableHostMemory availableHost = new AvailableHostMemory();

    /** Allocates by the given libc and, if available, CUDA driver. */
    public NativeMemoryAllocator(Posix posix, CudaAvailability availability) {
        this(posix, availability, GpuExpectation.NONE);
    }

    /** @param expectation is told of large allocations of GPU memory */
    public NativeMemoryAllocator(Posix posix, CudaAvailability availability, GpuExpectation expectation) {
        this.availability = availability;
        this.host = new HostMemory(posix);
        this.streams = availability.cudaContexts().map(CudaStreams::new);
        this.exports = availability.cudaContexts().map(contexts -> new DmaBufExports(posix, contexts));
        this.foreign = new ForeignMemory(availability);
        this.tags = availability.cudaContexts().map(AllocationTags::new);
        this.copies = new MemoryCopies(availability.cudaContexts(), streams);
        this.cuda = availability instanceof CudaAvailability.Available available
                ? Optional.of(new CudaMemory(posix, available, streams.orElseThrow(), expectation))
                : Optional.empty();
    }

    @Override
    public boolean supports(MemoryKind kind) {
        return switch (kind) {
            case HOST, HOST_HUGEPAGE -> true;
            case HOST_PINNED, HOST_REGISTERED, CUDA_DEVICE, CUDA_MANAGED, CUDA_POOL, CUDA_VMM ->
                cuda.isPresent() && cuda.get().supports(kind, 0);
        };
    }

    @Override
    public MemoryAllocation allocate(MemoryKind kind, long size, int device) {
        if (size < 1) {
            throw CuFileException.invalid(ALLOCATE, "size is " + size + ", allowed is 1 or more");
        }
        return book(switch (kind) {
            case HOST, HOST_HUGEPAGE -> host.allocate(kind, size);
            // Pinned for all GPUs, whichever GPU registers it.
            case HOST_PINNED, HOST_REGISTERED ->
                cuda(kind).allocate(kind, size, device == MemoryRange.NO_DEVICE ? 0 : device);
            case CUDA_DEVICE, CUDA_MANAGED, CUDA_POOL, CUDA_VMM -> cuda(kind).allocate(kind, size, device);
        });
    }

    /** Counts an allocation until it is freed, and lets it copy itself. */
    private MemoryAllocation book(MemoryAllocation allocation) {
        return accounts.book(MemoryAccess.copiedBy(this, allocation));
    }

    @Override
    public void prepare(MemoryKind kind, int device) {
        if (kind.isCuda()) {
            cuda(kind).prepare(device);
        }
    }

    @Override
    public void expect(MemoryKind kind, int device) {
        if (kind.isCuda() && cuda.isPresent()) {
            cuda.get().expect(device);
        }
    }

    @Override
    public Map<MemoryKind, MemoryUsage> usage() {
        return accounts.usage();
    }

    @Override
    public MemoryRange wrap(long address, long length) {
        return foreign.wrap(address, length);
    }

    @Override
    public MemoryAllocation pin(MemorySegment segment) {
        return book(foreign.pin(segment));
    }

    @Override
    public GrowableMemory growable(long maximum, int device) {
        if (maximum < 1) {
            throw CuFileException.invalid(ALLOCATE, "maximum is " + maximum + ", allowed is 1 or more");
        }
        return cuda(MemoryKind.CUDA_VMM).growable(maximum, device, this::book);
    }

    @Override
    public void prefetch(MemoryRange range, int device) {
        if (range.kind() != MemoryKind.CUDA_MANAGED) {
            throw CuFileException.of(
                    CuFileError.CUDA_MEMORY_TYPE_INVALID, PREFETCH, "not managed memory: " + range);
        }
        CudaMemory managed = cuda(range.kind());
        range.retain();
        try {
            managed.prefetch(range, device);
        } finally {
            range.release();
        }
    }

    @Override
    public void awaitStream(long stream) {
        CudaContexts contexts = availability.cudaContexts().orElse(null);
        if (contexts == null) {
            MemoryAllocator.super.awaitStream(stream);
            return;
        }
        if (stream < 0) {
            throw CuFileException.invalid(SYNCHRONIZE, "0x%x is no CUDA stream".formatted(stream));
        }
        Cuda cuda = contexts.cuda();
        long[] context = new long[1];
        if (stream <= LAST_DEFAULT_STREAM) {
            cuda.ctxGetCurrent(context);
            context[0] = context[0] == 0 ? contexts.primary(0) : context[0];
        } else {
            CudaErrors.check(cuda, "cuStreamGetCtx", cuda.streamGetCtx(stream, context));
        }
        CudaErrors.check(cuda, SYNCHRONIZE, contexts.in(context[0], () -> cuda.streamSynchronize(stream)));
    }

    @Override
    public Optional<HostPages> pages(MemoryAllocation allocation) {
        return host.pages(allocation.range().address());
    }

    @Override
    public void copyToHost(MemoryRange from, MemorySegment to) {
        checkFits(from, to.byteSize());
        SegmentChecks.writable(to);
        from.retain();
        try {
            SegmentChecks.whileOpen(() -> copies.toHost(from, to));
        } finally {
            from.release();
        }
    }

    @Override
    public void copyFromHost(MemorySegment from, MemoryRange to) {
        checkFits(to, from.byteSize());
        SegmentChecks.readable(from);
        checkWritable(to);
        to.retain();
        try {
            SegmentChecks.whileOpen(() -> copies.fromHost(from, to));
        } finally {
            to.release();
        }
    }

    @Override
    public void copy(MemoryRange from, MemoryRange to) {
        checkFits(to, from.length());
        checkWritable(to);
        whileHeld(from, to, () -> copies.between(from, to));
    }

    @Override
    public void copyRows(MemoryRange from, long fromPitch, MemoryRange to, long toPitch, long width, long rows) {
        checkWritable(to);
        checkRows(from, fromPitch, width, rows);
        checkRows(to, toPitch, width, rows);
        whileHeld(from, to, () -> copies.rows(from, fromPitch, to, toPitch, width, rows));
    }

    @Override
    public boolean converts(String from, String to) {
        return cuda.isPresent() && ElementConversion.of(from, to).isPresent();
    }

    @Override
    public void convert(MemoryRange from, String fromType, MemoryRange to, String toType) {
        ElementConversion conversion = ElementConversion.of(fromType, toType).orElse(null);
        if (conversion == null || !from.kind().isCuda() || !to.kind().isCuda()) {
            MemoryAllocator.super.convert(from, fromType, to, toType);
            return;
        }
        checkWritable(to);
        long elements = conversion.elements(from, to);
        whileHeld(from, to, () -> copies.convert(from, to, conversion, elements));
    }

    /** Does work while this thread holds both ranges: no other thread frees them meanwhile. */
    private static void whileHeld(MemoryRange from, MemoryRange to, Runnable work) {
        from.retain();
        try {
            to.retain();
            try {
                SegmentChecks.whileOpen(work);
            } finally {
                to.release();
            }
        } finally {
            from.release();
        }
    }

    private static void checkRows(MemoryRange range, long pitch, long width, long rows) {
        if (width < 1 || rows < 1 || rows > 1 && pitch < width) {
            throw CuFileException.invalid(
                    COPY, "%s rows of %s bytes have a distance of %s bytes".formatted(rows, width, pitch));
        }
        if (width > range.length() || rows > 1 && (range.length() - width) / pitch < rows - 1) {
            throw CuFileException.of(
                    CuFileError.CUDA_POINTER_RANGE_ERROR, COPY,
                    "%s rows of %s bytes, %s bytes apart, reach past %s bytes of memory"
                            .formatted(rows, width, pitch, range.length()));
        }
    }

    @Override
    public void fill(MemoryRange range, byte value) {
        checkWritable(range);
        range.retain();
        try {
            SegmentChecks.whileOpen(() -> copies.fill(range, value));
        } finally {
            range.release();
        }
    }

    @Override
    public long available(MemoryKind kind, int device) {
        return switch (kind) {
            case HOST, HOST_HUGEPAGE -> availableHost.bytes();
            case HOST_PINNED, HOST_REGISTERED -> {
                cuda(kind);
                yield availableHost.bytes();
            }
            case CUDA_DEVICE, CUDA_MANAGED, CUDA_POOL, CUDA_VMM -> cuda(kind).free(device);
        };
    }

    @Override
    public Optional<AllocationTag> allocationOf(MemoryRange range) {
        return tags.flatMap(known -> known.of(range));
    }

    @Override
    public boolean isCurrent(AllocationTag tag) {
        return tags.isPresent() && tags.get().isCurrent(tag);
    }

    @Override
    public DmaBuf exportDmaBuf(MemoryRange range) {
        if (exports.isEmpty()) {
            throw CuFileException.of(
                    CuFileError.CUDA_MEMORY_TYPE_INVALID, EXPORT, "there is no CUDA driver to export " + range);
        }
        range.retain();
        try {
            return exports.get().export(range);
        } finally {
            range.release();
        }
    }

    @Override
    public boolean flushDeviceWrites(int device) {
        return cuda.isPresent() && cuda.get().flushDeviceWrites(device);
    }

    /** Keeps CUDA streams for copies from now on. */
    public void open() {
        streams.ifPresent(CudaStreams::open);
    }

    /** Frees the CUDA streams. The allocator still works, with a stream for each call. */
    @Override
    public void close() {
        streams.ifPresent(CudaStreams::close);
    }

    private CudaMemory cuda(MemoryKind kind) {
        return cuda.orElseThrow(() -> {
            String why = availability instanceof CudaAvailability.Unavailable none
                    ? ": " + none.reason() + "; " + none.remedy()
                    : "";
            return CuFileException.of(
                    CuFileError.CUDA_MEMORY_TYPE_INVALID, ALLOCATE, "this machine has no " + kind + " memory" + why);
        });
    }

    private static void checkFits(MemoryRange range, long size) {
        if (size > range.length()) {
            throw CuFileException.of(
                    CuFileError.CUDA_POINTER_RANGE_ERROR,
                    COPY,
                    "%s bytes do not fit into a range of %s bytes".formatted(size, range.length()));
        }
    }

    private static void checkWritable(MemoryRange range) {
        if (!range.isWritable()) {
            throw CuFileException.invalid(COPY, range + " is read-only");
        }
    }

    /** Counts allocated memory by kind. */
    private static final class MemoryAccounts {
        private static final MemoryUsage NOTHING = new MemoryUsage(0, 0, 0, 0);

        private final Map<MemoryKind, MemoryUsage> byKind = new EnumMap<>(MemoryKind.class);

        /** Counts an allocation until it is freed. */
        MemoryAllocation book(MemoryAllocation allocation) {
            MemoryKind kind = allocation.range().kind();
            long bytes = allocation.range().length();
            add(kind, bytes);
            MemoryAccess.USES.beforeFree(allocation, base -> add(kind, -bytes));
            return allocation;
        }

        private synchronized void add(MemoryKind kind, long bytes) {
            MemoryUsage now = byKind.getOrDefault(kind, NOTHING);
            long held = now.bytes() + bytes;
            byKind.put(kind, new MemoryUsage(
                    now.allocations() + (bytes < 0 ? -1 : 1),
                    held,
                    Math.max(held, now.peakBytes()),
                    now.allBytes() + Math.max(0, bytes)));
        }

        synchronized Map<MemoryKind, MemoryUsage> usage() {
            return Collections.unmodifiableMap(new EnumMap<>(byKind));
        }
    }
}
