package io.gds4j.compat;

import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;

/** Pins slabs for every context of the process. */
final class GpuPinning implements BouncePool.Pinning {
    private final CudaContexts contexts;

    GpuPinning(CudaContexts contexts) {
        this.contexts = contexts;
    }

    @Override
    public boolean pin(long address, long size) {
        Cuda cuda = contexts.cuda();
        return contexts.in(contexts.primary(0),
                () -> cuda.memHostRegister(address, size, Cuda.MEM_HOST_PORTABLE)) == Cuda.SUCCESS;
    }

    @Override
    public void unpin(long address) {
        Cuda cuda = contexts.cuda();
        contexts.in(contexts.primary(0), () -> cuda.memHostUnregister(address));
    }
}
