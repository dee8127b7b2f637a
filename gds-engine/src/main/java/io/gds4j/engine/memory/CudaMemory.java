package io.gds4j.engine.memory;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.NativeSegments;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAttributes;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
import io.gds4j.ffi.cuda.GpuCapabilities;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.internal.lifetime.Uninterruptibly;
import io.gds4j.memory.GrowableMemory;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.function.IntSupplier;
import java.util.function.ToIntFunction;
import java.util.function.UnaryOperator;

/**
 * Allocates memory that needs the CUDA driver, in the primary context of its GPU. The same context frees it. If the context or the
 * driver is gone already, so is the memory.
 */
final class CudaMemory {
    private static final String FUNCTION = "MemoryAllocator.allocate";

    /** Smallest allocation in bytes that announces long reads. */
    private static final long LARGE_BYTES = 64L << 20;

    private final Posix posix;
    private final CudaContexts contexts;
    private final Cuda cuda;
    private final CudaStreams streams;
    private final StreamWaits waits;
    private final int deviceCount;
    private final GpuExpectation expectation;

    CudaMemory(
            Posix posix, CudaAvailability.Available available, CudaStreams streams,
            GpuExpectation expectation) {
        this.expectation = expectation;
        this.posix = posix;
        this.contexts = available.contexts();
        this.cuda = available.driver();
        this.streams = streams;
        this.waits = StreamWaits.of(contexts);
        this.deviceCount = available.deviceCount();
    }

    /** Returns true if this GPU has memory of the kind; makes no context. */
    boolean supports(MemoryKind kind, int device) {
        return switch (kind) {
            case HOST, HOST_HUGEPAGE -> false;
            case HOST_PINNED, HOST_REGISTERED, CUDA_DEVICE -> true;
            case CUDA_MANAGED -> has(CudaAttributes.DEVICE_MANAGED_MEMORY, device);
            case CUDA_POOL -> has(CudaAttributes.DEVICE_MEMORY_POOLS, device);
            case CUDA_VMM -> has(CudaAttributes.DEVICE_VIRTUAL_MEMORY_MANAGEMENT, device);
        };
    }

    private boolean has(int attribute, int device) {
        int[] value = new int[1];
        return cuda.deviceGet(value, device) == Cuda.SUCCESS
                && cuda.deviceGetAttribute(value, attribute, value[0]) == Cuda.SUCCESS
                && value[0] != 0;
    }

    MemoryAllocation allocate(MemoryKind kind, long size, int device) {
        checkDevice(device);
        checkSupports(kind, device);
        if (kind.isCuda()) {
            expectation.allocates();
            if (size >= LARGE_BYTES) {
                expectation.expect(device);
            }
        }
        long context = contexts.primary(device);
        return switch (kind) {
            case HOST_PINNED, HOST_REGISTERED -> pinned(kind, size, context);
            case CUDA_DEVICE -> {
                long address = make(context, "cuMemAlloc", size, out -> cuda.memAlloc(out, size));
                yield allocation(address, size, kind, device, freeing(context, address));
            }
            case CUDA_MANAGED -> {
                int flags = Cuda.MEM_ATTACH_GLOBAL;
                long address =
                        make(context, "cuMemAllocManaged", size, out -> cuda.memAllocManaged(out, size, flags));
                yield allocation(address, size, kind, device, freeing(context, address));
            }
            case CUDA_POOL -> pooled(size, device, context);
            case CUDA_VMM -> {
                MappedDeviceMemory memory = mapped(size, size, device, context);
                yield allocation(memory.address(), size, kind, device, memory::free);
            }
            case HOST, HOST_HUGEPAGE -> throw new AssertionError(kind);
        };
    }

    /** Makes the GPU's primary context and all that requests need. */
    void prepare(int device) {
        checkDevice(device);
        expectation.prepare(device);
        contexts.primary(device);
    }

    /** Begins the same on other threads, if there is such a GPU. */
    void expect(int device) {
        if (device >= 0 && device < deviceCount) {
            expectation.expect(device);
        }
    }

    private MappedDeviceMemory mapped(long reserved, long size, int device, long context) {
        boolean rdma = has(CudaAttributes.DEVICE_GPU_DIRECT_RDMA_WITH_VMM, device);
        return MappedDeviceMemory.map(contexts, context, reserved, size, device, rdma);
    }

    /** Reserves addresses for {@code maximum} bytes and maps their first page. */
    GrowableMemory growable(long maximum, int device, UnaryOperator<MemoryAllocation> book) {
        checkDevice(device);
        checkSupports(MemoryKind.CUDA_VMM, device);
        return new GrowableDeviceMemory(mapped(maximum, 1, device, contexts.primary(device)), device, maximum, book);
    }

    /** Moves pages of managed memory to a GPU or the host. */
    void prefetch(MemoryRange range, int device) {
        if (device != MemoryRange.NO_DEVICE) {
            checkDevice(device);
        }
        if (range.length() > 0) {
            long context = contexts.contextOf(range.address(), range.device());
            streams.runWhileNone(
                    context,
                    "cuMemPrefetchAsync",
                    stream -> cuda.memPrefetchAsync(range.address(), range.length(), device, stream));
        }
    }

    /** Flushes writes of other devices. Returns false if the GPU orders them itself or cannot be flushed by the host. */
    boolean flushDeviceWrites(int device) {
        checkDevice(device);
        GpuCapabilities can = GpuCapabilities.of(cuda, device);
        if (!can.flushFromHost() || can.writesOrdering() == GpuCapabilities.Ordering.ALL_DEVICES) {
            return false;
        }
        int result = contexts.in(
                contexts.primary(device), () -> cuda.flushGpuDirectRdmaWrites(Cuda.FLUSH_TO_ALL_DEVICES));
        CudaErrors.check(cuda, "cuFlushGPUDirectRDMAWrites", result);
        return true;
    }

    /** Returns the free bytes of a GPU. */
    long free(int device) {
        checkDevice(device);
        long[] freeAndTotal = new long[2];
        int result = contexts.in(contexts.primary(device), () -> cuda.memGetInfo(freeAndTotal));
        CudaErrors.check(cuda, "cuMemGetInfo", result);
        return freeAndTotal[0];
    }

    private void checkSupports(MemoryKind kind, int device) {
        if (!supports(kind, device)) {
            throw CuFileException.of(
                    CuFileError.CUDA_MEMORY_TYPE_INVALID, FUNCTION, "GPU " + device + " has no " + kind + " memory");
        }
    }

    private void checkDevice(int device) {
        if (device < 0 || device >= deviceCount) {
            throw CuFileException.of(
                    CuFileError.DEVICE_NOT_FOUND,
                    FUNCTION,
                    "there is no GPU %s, this machine has %s".formatted(device, deviceCount));
        }
    }

    /**
     * Maps huge pages and registers them, so that they are page-aligned and zero, which the driver does not promise for its own pinned
     * memory. The driver's memory is the second choice, for systems whose memory cannot be registered.
     */
    private MemoryAllocation pinned(MemoryKind kind, long size, long context) {
        HostMapping mapping = HostMapping.map(posix, size);
        long address = mapping.address();
        int result = waits.whileNone(
                contexts, context, () -> cuda.memHostRegister(address, mapping.mapped(), Cuda.MEM_HOST_PORTABLE));
        if (result == Cuda.SUCCESS) {
            Runnable unregister = freeing(context, "cuMemHostUnregister", () -> cuda.memHostUnregister(address));
            return host(kind, address, size, () -> {
                try {
                    unregister.run();
                } finally {
                    mapping.unmap(posix); // a driver that fails here has lost its context, and copies no more
                }
            });
        }
        mapping.unmap(posix);
        boolean otherwise = kind == MemoryKind.HOST_PINNED;
        if (!otherwise || result != Cuda.ERROR_NOT_SUPPORTED && result != Cuda.ERROR_NOT_PERMITTED) {
            throw CudaErrors.failure(cuda, "cuMemHostRegister", result).range(-1, size).build();
        }
        long allocated =
                make(context, "cuMemHostAlloc", size, out -> cuda.memHostAlloc(out, size, Cuda.MEM_HOST_PORTABLE));
        HostMemoryViews.ofAddress(allocated, size).fill((byte) 0);
        return host(kind, allocated, size, freeing(context, "cuMemFreeHost", () -> cuda.memFreeHost(allocated)));
    }

    private MemoryAllocation pooled(long size, int device, long context) {
        long[] out = new long[1];
        int result = streams.tryRun(context, stream -> cuda.memAllocAsync(out, size, stream));
        long address = out[0];
        if (result != Cuda.SUCCESS) {
            if (address != 0) { // allocated, but waiting for it failed
                streams.tryRun(context, stream -> cuda.memFreeAsync(address, stream));
            }
            throw CudaErrors.failure(cuda, "cuMemAllocAsync", result).range(-1, size).build();
        }
        return allocation(address, size, MemoryKind.CUDA_POOL, device, () -> {
            int freed = streams.tryRun(context, stream -> cuda.memFreeAsync(address, stream));
            CudaErrors.checkFreed(cuda, "cuMemFreeAsync", freed);
        });
    }

    private long make(long context, String call, long size, ToIntFunction<long[]> allocate) {
        long[] out = new long[1];
        int[] result = new int[1];
        waits.whileNone(() -> {
            streams.prepare(context); // outside of the context, because it may wait; without a stream, copies report the failure
            result[0] = contexts.in(context, () -> allocate.applyAsInt(out));
        });
        if (result[0] != Cuda.SUCCESS) {
            throw CudaErrors.failure(cuda, call, result[0]).range(-1, size).build();
        }
        return out[0];
    }

    private Runnable freeing(long context, String call, IntSupplier free) {
        return () -> CudaErrors.checkFreed(cuda, call, waits.whileNone(contexts, context, free));
    }

    private Runnable freeing(long context, long address) {
        return freeing(context, "cuMemFree", () -> cuda.memFree(address));
    }

    private static MemoryAllocation allocation(long address, long size, MemoryKind kind, int device, Runnable free) {
        return MemoryAllocation.of(MemoryRange.ofAddress(address, size, kind, device), free);
    }

    private static MemoryAllocation host(MemoryKind kind, long address, long size, Runnable free) {
        // A segment that outlives the memory must throw, not touch freed memory.
        Arena lifetime = Arena.ofShared();
        MemorySegment view = NativeSegments.of(address, size, lifetime);
        return MemoryAllocation.of(MemoryRange.ofSegment(view, kind), () -> {
            Uninterruptibly.close(lifetime);
            free.run();
        });
    }
}
