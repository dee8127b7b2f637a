package io.gds4j.engine.kernel;

import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaErrors;

/**
 * A kernel that makes the copy of a {@link CopyCell} when its stream reaches it. It needs neither a copy engine nor another stream: it
 * runs in the stream itself, where no work of other streams can come between.
 */
public final class CopyKernel {
    private static final int THREADS = 512;

    /** A vector of 16 bytes for each thread. */
    private static final long BYTES_PER_BLOCK = 16L * THREADS;

    /** 16 blocks copy what processors have just written a sixth slower; 128 are no faster. */
    private static final int MOST_BLOCKS = 64;

    private final long function;

    private CopyKernel(long function) {
        this.function = function;
    }

    /**
     * Loads it into the current context, for the life of the context. Loading and the first launch, which is made here, may wait for
     * all streams.
     *
     * @throws io.gds4j.error.CuFileException if the driver refuses
     */
    static CopyKernel load(Cuda cuda) {
        long[] out = new long[1];
        CudaErrors.check(cuda, "cuModuleLoadData", cuda.moduleLoad(out, CopyPtx.TEXT));
        CudaErrors.check(cuda, "cuModuleGetFunction", cuda.moduleGetFunction(out, out[0], CopyPtx.NAME));
        CopyKernel kernel = new CopyKernel(out[0]);
        CudaErrors.check(cuda, "cuMemHostAlloc", cuda.memHostAlloc(out, CopyCell.BYTES, Cuda.MEM_HOST_DEVICEMAP));
        long memory = out[0];
        try {
            kernel.launchOnce(cuda, CopyCell.at(memory));
        } finally {
            cuda.memFreeHost(memory);
        }
        return kernel;
    }

    private void launchOnce(Cuda cuda, CopyCell cell) {
        cell.clear();
        long[] stream = new long[1];
        CudaErrors.check(cuda, "cuStreamCreate", cuda.streamCreate(stream, Cuda.STREAM_NON_BLOCKING));
        try {
            CudaErrors.check(cuda, "cuLaunchKernel", launch(cuda, cell, 0, stream[0]));
            CudaErrors.check(cuda, "cuStreamSynchronize", cuda.streamSynchronize(stream[0]));
        } finally {
            cuda.streamDestroy(stream[0]);
        }
    }

    /**
     * Puts it into a stream of its context, which is current.
     *
     * @param largest most bytes that the cell will hold
     * @return a {@code CUresult}
     */
    public int launch(Cuda cuda, CopyCell cell, long largest, long stream) {
        long blocks = Math.clamp(largest / BYTES_PER_BLOCK, 1, MOST_BLOCKS);
        return cuda.launchKernel(function, (int) blocks, THREADS, cell.address(), 0, stream);
    }
}
