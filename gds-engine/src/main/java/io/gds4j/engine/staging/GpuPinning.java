package io.gds4j.engine.staging;

import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
import java.util.function.Consumer;

/** Pins slabs for every context of the process. */
final class GpuPinning implements Pinning {
    private final CudaContexts contexts;
    private final Consumer<String> warnings;

    /** @param warnings receives the reason why memory could not be pinned */
    GpuPinning(CudaContexts contexts, Consumer<String> warnings) {
        this.contexts = contexts;
        this.warnings = warnings;
    }

    @Override
    public Pinned pin(long address, long size) {
        Cuda cuda = contexts.cuda();
        try {
            long context = contexts.primary(0);
            int result = contexts.in(context, () -> cuda.memHostRegister(address, size, Cuda.MEM_HOST_PORTABLE));
            if (result == Cuda.SUCCESS) {
                return Pinned.PINNED;
            }
            if (CudaErrors.isOfCapture(result)) {
                return Pinned.NOT_NOW;
            }
            refused(cuda.errorName(result));
        } catch (CuFileException e) {
            refused(e.getMessage());
        }
        return Pinned.REFUSED;
    }

    private void refused(String why) {
        warnings.accept("bounce buffer stays pageable: " + why);
    }

    @Override
    public void unpin(long address) {
        Cuda cuda = contexts.cuda();
        contexts.in(contexts.primary(0), () -> cuda.memHostUnregister(address));
    }
}
