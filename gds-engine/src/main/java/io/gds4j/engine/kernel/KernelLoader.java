package io.gds4j.engine.kernel;

import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaErrors;

/** Loads kernels into the current context, for the life of the context. Loading and a first launch may wait for all streams. */
final class KernelLoader {
    private KernelLoader() {
    }

    /** A launch of a kernel that copies nothing. */
    interface Launch {
        /** Launches it with pinned memory, and returns a {@code CUresult}. */
        int into(long memory, long stream);
    }

    /**
     * Loads a program.
     *
     * @throws io.gds4j.error.CuFileException if the driver refuses
     */
    static long module(Cuda cuda, String text) {
        long[] out = new long[1];
        CudaErrors.check(cuda, "cuModuleLoadData", cuda.moduleLoad(out, text));
        return out[0];
    }

    /**
     * Returns the function of a kernel.
     *
     * @throws io.gds4j.error.CuFileException if the driver refuses
     */
    static long function(Cuda cuda, long module, String name) {
        long[] out = new long[1];
        CudaErrors.check(cuda, "cuModuleGetFunction", cuda.moduleGetFunction(out, module, name));
        return out[0];
    }

    /**
     * Launches a kernel once and waits for it.
     *
     * @param bytes bytes of the pinned memory
     * @throws io.gds4j.error.CuFileException if the driver refuses
     */
    static void launchOnce(Cuda cuda, long bytes, Launch launch) {
        long[] out = new long[1];
        CudaErrors.check(cuda, "cuMemHostAlloc", cuda.memHostAlloc(out, bytes, Cuda.MEM_HOST_DEVICEMAP));
        long memory = out[0];
        try {
            CudaErrors.check(cuda, "cuStreamCreate", cuda.streamCreate(out, Cuda.STREAM_NON_BLOCKING));
            long stream = out[0];
            try {
                CudaErrors.check(cuda, "cuLaunchKernel", launch.into(memory, stream));
                CudaErrors.check(cuda, "cuStreamSynchronize", cuda.streamSynchronize(stream));
            } finally {
                cuda.streamDestroy(stream);
            }
        } finally {
            cuda.memFreeHost(memory);
        }
    }
}
