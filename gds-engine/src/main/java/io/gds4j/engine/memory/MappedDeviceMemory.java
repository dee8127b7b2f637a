package io.gds4j.engine.memory;

import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;

/**
 * GPU memory made by the virtual memory management calls: reserve addresses, create physical memory, map it, allow its GPU to access
 * it. The steps are undone in reverse order, also when a later step fails.
 */
final class MappedDeviceMemory {
    private record Undo(String call, IntSupplier action) {
    }

    private final CudaContexts contexts;
    private final Cuda cuda;
    private final long context;
    private final int device;
    private final boolean rdma;
    private final Deque<Undo> undo = new ArrayDeque<>();
    private long granularity;
    private long address;
    private long reserved;
    private long mapped;

    private MappedDeviceMemory(CudaContexts contexts, long context, int device, boolean rdma) {
        this.contexts = contexts;
        this.cuda = contexts.cuda();
        this.context = context;
        this.device = device;
        this.rdma = rdma;
    }

    /**
     * Maps at least {@code size} bytes of a GPU, and reserves addresses for at least {@code reserved}.
     *
     * @param rdma whether to request memory that GPUDirect RDMA can reach
     * @throws CuFileException NOMEM_ERROR when there is too little memory
     */
    static MappedDeviceMemory map(
            CudaContexts contexts, long context, long reserved, long size, int device, boolean rdma) {
        MappedDeviceMemory memory = new MappedDeviceMemory(contexts, context, device, rdma);
        memory.undoing(() -> {
            memory.reserve(reserved);
            memory.extend(size);
        });
        return memory;
    }

    /** Maps more behind the mapped part, up to {@code size} bytes in all. If that fails, nothing has changed. */
    void grow(long size) {
        if (size > mapped) {
            undoing(() -> extend(size));
        }
    }

    /** Runs steps in the context; if one fails, undoes those before it. */
    private void undoing(Runnable steps) {
        int before = undo.size();
        CudaErrors.check(cuda, "cuCtxPushCurrent", contexts.enter(context));
        try {
            steps.run();
        } catch (CuFileException e) {
            undoTo(before);
            throw e;
        } finally {
            contexts.leave();
        }
    }

    private void reserve(long size) {
        long[] out = new long[1];
        step("cuMemGetAllocationGranularity", size, cuda.memGetAllocationGranularity(out, device));
        granularity = Math.max(1, out[0]);
        if (size > Long.MAX_VALUE - granularity) {
            step("cuMemAddressReserve", size, Cuda.ERROR_OUT_OF_MEMORY);
        }
        long bytes = whole(size);
        step("cuMemAddressReserve", size, cuda.memAddressReserve(out, bytes, 0));
        address = out[0];
        reserved = bytes;
        undo.push(new Undo("cuMemAddressFree", () -> cuda.memAddressFree(address, bytes)));
    }

    private long whole(long size) {
        return (size + granularity - 1) / granularity * granularity;
    }

    private void extend(long size) {
        long[] out = new long[1];
        long at = address + mapped;
        long bytes = Math.min(whole(size), reserved) - mapped;
        int created = cuda.memCreate(out, bytes, device, rdma);
        if (rdma && created != Cuda.SUCCESS && created != Cuda.ERROR_OUT_OF_MEMORY) {
            created = cuda.memCreate(out, bytes, device, false); // the GPU supports it, this system may not
        }
        step("cuMemCreate", size, created);
        long handle = out[0];
        undo.push(new Undo("cuMemRelease", () -> cuda.memRelease(handle)));

        step("cuMemMap", size, cuda.memMap(at, bytes, 0, handle));
        undo.push(new Undo("cuMemUnmap", () -> cuda.memUnmap(at, bytes)));

        step("cuMemSetAccess", size, cuda.memSetAccess(at, bytes, device));
        mapped += bytes;
    }

    private void step(String call, long size, int result) {
        if (result != Cuda.SUCCESS) {
            throw CudaErrors.failure(cuda, call, result).range(-1, size).build();
        }
    }

    long address() {
        return address;
    }

    /** Returns the mapped bytes, whole pages of the GPU. */
    long mapped() {
        return mapped;
    }

    /** Frees everything. Called once. */
    void free() {
        int entered = contexts.enter(context);
        if (entered != Cuda.SUCCESS) {
            CudaErrors.checkFreed(cuda, "cuCtxPushCurrent", entered);
            return;
        }
        CuFileException failure;
        try {
            failure = undoTo(0);
        } finally {
            contexts.leave();
        }
        if (failure != null) {
            throw failure;
        }
    }

    /** Undoes steps, last first, until {@code left} steps remain. Returns the first failure. */
    private @Nullable CuFileException undoTo(int left) {
        CuFileException first = null;
        while (undo.size() > left) {
            Undo step = undo.pop();
            int result = step.action().getAsInt();
            if (result != Cuda.SUCCESS && !CudaErrors.isGone(result) && first == null) {
                first = CudaErrors.failure(cuda, step.call(), result).build();
            }
        }
        return first;
    }
}
