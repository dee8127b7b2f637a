package io.gds4j.engine.kernel;

import io.gds4j.engine.machine.TransferCosts;
import io.gds4j.engine.memory.PerContext;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;

/**
 * A kernel that makes the copy of a {@link CopyCell} when its stream reaches it. It needs neither a copy engine nor another stream: it
 * runs in the stream itself, where no work of other streams can come between.
 */
public final class CopyKernel {
    private static final int THREADS = 512;

    /** A vector of 16 bytes for each thread. */
    private static final long BYTES_PER_BLOCK = 16L * THREADS;

    private static final PerContext<CopyKernel> KERNELS = new PerContext<>(CopyKernel::load);

    private final long function;

    private CopyKernel(long function) {
        this.function = function;
    }

    /**
     * Returns the kernel that copies within streams of a context. The first call for a context loads it at a time when no stream
     * waits.
     *
     * @throws io.gds4j.error.CuFileException if the driver refuses
     */
    public static CopyKernel of(CudaContexts contexts, long context) {
        return KERNELS.of(contexts, context);
    }

    private static CopyKernel load(CudaContexts contexts, long context) {
        CudaErrors.check(contexts.cuda(), "cuCtxPushCurrent", contexts.enter(context));
        try {
            return load(contexts.cuda());
        } finally {
            contexts.leave();
        }
    }

    /**
     * Loads it into the current context, for the life of the context. Loading and the first launch, which is made here, may wait for
     * all streams.
     *
     * @throws io.gds4j.error.CuFileException if the driver refuses
     */
    private static CopyKernel load(Cuda cuda) {
        CopyKernel kernel = new CopyKernel(
                KernelLoader.function(cuda, KernelLoader.module(cuda, Ptx.copy()), Ptx.COPY));
        KernelLoader.launchOnce(cuda, CopyCell.BYTES, (memory, stream) -> {
            CopyCell cell = CopyCell.at(memory);
            cell.clear();
            return kernel.launch(cuda, cell, 0, stream);
        });
        return kernel;
    }

    /**
     * Puts it into a stream of its context, which is current.
     *
     * @param largest most bytes that the cell will hold
     * @return a {@code CUresult}
     */
    public int launch(Cuda cuda, CopyCell cell, long largest, long stream) {
        long blocks = Math.clamp(largest / BYTES_PER_BLOCK, 1, TransferCosts.COPY_KERNEL_BLOCKS);
        return cuda.launchKernel(function, (int) blocks, THREADS, cell.address(), 0, 0, stream);
    }
}
