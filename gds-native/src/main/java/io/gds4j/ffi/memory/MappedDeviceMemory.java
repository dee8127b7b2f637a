package io.gds4j.ffi.memory;

import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;

/**
 * GPU memory by the virtual memory management calls: addresses reserved, physical memory made, mapped and opened to its GPU.
 * What was done is undone in reverse order, also when a later step fails.
 */
final class MappedDeviceMemory {
    private record Undo(String call, IntSupplier action) {
    }

    private final CudaContexts contexts;
    private final Cuda cuda;
    private final long context;
    private final Deque<Undo> undo = new ArrayDeque<>();
    private long address;

    private MappedDeviceMemory(CudaContexts contexts, long context) {
        this.contexts = contexts;
        this.cuda = contexts.cuda();
        this.context = context;
    }

    /**
     * Maps at least {@code size} bytes of a GPU.
     *
     * @param rdma whether to ask for memory that GPUDirect RDMA can reach
     * @throws CuFileException NOMEM_ERROR when there is too little memory
     */
    static MappedDeviceMemory map(CudaContexts contexts, long context, long size, int device, boolean rdma) {
        MappedDeviceMemory memory = new MappedDeviceMemory(contexts, context);
        CudaErrors.check(contexts.cuda(), "cuCtxPushCurrent", contexts.enter(context));
        try {
            memory.map(size, device, rdma);
        } catch (CuFileException e) {
            memory.undoAll();
            throw e;
        } finally {
            contexts.leave();
        }
        return memory;
    }

    private void map(long size, int device, boolean rdma) {
        long[] out = new long[1];
        step("cuMemGetAllocationGranularity", size, cuda.memGetAllocationGranularity(out, device));
        long granularity = Math.max(1, out[0]);
        if (size > Long.MAX_VALUE - granularity) {
            step("cuMemAddressReserve", size, Cuda.ERROR_OUT_OF_MEMORY);
        }
        long bytes = (size + granularity - 1) / granularity * granularity;

        step("cuMemAddressReserve", size, cuda.memAddressReserve(out, bytes, 0));
        address = out[0];
        undo.push(new Undo("cuMemAddressFree", () -> cuda.memAddressFree(address, bytes)));

        int created = cuda.memCreate(out, bytes, device, rdma);
        if (rdma && created != Cuda.SUCCESS && created != Cuda.ERROR_OUT_OF_MEMORY) {
            created = cuda.memCreate(out, bytes, device, false); // the GPU can do it, this system may not
        }
        step("cuMemCreate", size, created);
        long handle = out[0];
        undo.push(new Undo("cuMemRelease", () -> cuda.memRelease(handle)));

        step("cuMemMap", size, cuda.memMap(address, bytes, 0, handle));
        undo.push(new Undo("cuMemUnmap", () -> cuda.memUnmap(address, bytes)));

        step("cuMemSetAccess", size, cuda.memSetAccess(address, bytes, device));
    }

    private void step(String call, long size, int result) {
        if (result != Cuda.SUCCESS) {
            throw CudaErrors.failure(cuda, call, result).range(-1, size).build();
        }
    }

    long address() {
        return address;
    }

    /** Gives everything back; once. */
    void free() {
        int entered = contexts.enter(context);
        if (entered != Cuda.SUCCESS) {
            CudaErrors.checkFreed(cuda, "cuCtxPushCurrent", entered);
            return;
        }
        CuFileException failure;
        try {
            failure = undoAll();
        } finally {
            contexts.leave();
        }
        if (failure != null) {
            throw failure;
        }
    }

    /** Undoes every step, last first; answers the first failure. */
    private @Nullable CuFileException undoAll() {
        CuFileException first = null;
        while (!undo.isEmpty()) {
            Undo step = undo.pop();
            int result = step.action().getAsInt();
            if (result != Cuda.SUCCESS && !CudaErrors.isGone(result) && first == null) {
                first = CudaErrors.failure(cuda, step.call(), result).build();
            }
        }
        return first;
    }
}
