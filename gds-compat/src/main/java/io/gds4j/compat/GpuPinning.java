package io.gds4j.compat;

import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import java.lang.System.Logger.Level;

/** Pins slabs for every context of the process. */
final class GpuPinning implements BouncePool.Pinning {
    private final CudaContexts contexts;

    GpuPinning(CudaContexts contexts) {
        this.contexts = contexts;
    }

    @Override
    public boolean pin(long address, long size) {
        Cuda cuda = contexts.cuda();
        try {
            long context = contexts.primary(0);
            int result = contexts.in(context, () -> cuda.memHostRegister(address, size, Cuda.MEM_HOST_PORTABLE));
            if (result == Cuda.SUCCESS) {
                return true;
            }
            refused(cuda.errorName(result));
        } catch (CuFileException e) {
            refused(e.getMessage());
        }
        return false;
    }

    private static void refused(String why) {
        System.getLogger("io.gds4j.compat").log(Level.WARNING, "bounce buffer stays pageable: {0}", why);
    }

    @Override
    public void unpin(long address) {
        Cuda cuda = contexts.cuda();
        contexts.in(contexts.primary(0), () -> cuda.memHostUnregister(address));
    }
}
