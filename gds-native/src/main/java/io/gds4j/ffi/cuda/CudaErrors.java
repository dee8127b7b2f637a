package io.gds4j.ffi.cuda;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;

/** The one place that turns a {@code CUresult} into an exception. */
public final class CudaErrors {
    private CudaErrors() {
    }

    /**
     * Throws unless the call succeeded.
     *
     * @param call C name of the driver function
     */
    public static void check(Cuda cuda, String call, int result) {
        if (result != Cuda.SUCCESS) {
            throw failure(cuda, call, result).build();
        }
    }

    /**
     * Throws unless the call succeeded, or failed because what it should free is gone already: {@link #isGone}.
     *
     * @param call C name of the driver function
     */
    public static void checkFreed(Cuda cuda, String call, int result) {
        if (!isGone(result)) {
            check(cuda, call, result);
        }
    }

    /**
     * True for the failures that say that a context, or the driver itself at the end of the process, is gone: memory, streams
     * and events went with it, and whoever wanted to free them is done.
     */
    public static boolean isGone(int result) {
        return result == Cuda.ERROR_DEINITIALIZED
                || result == Cuda.ERROR_CONTEXT_IS_DESTROYED
                || result == Cuda.ERROR_INVALID_CONTEXT;
    }

    /** Begins the exception for a failed driver call: NOMEM_ERROR when memory ran out, else CUDA_DRIVER_ERROR. */
    public static CuFileException.Builder failure(Cuda cuda, String call, int result) {
        String text = cuda.errorText(result);
        CuFileException.Builder failure = CuFileException.builder(call)
                .detail(cuda.errorName(result) + (text.isEmpty() ? "" : ": " + text) + needs(cuda, call));
        return result == Cuda.ERROR_OUT_OF_MEMORY
                ? failure.error(CuFileError.NOMEM_ERROR).errno(Errno.ENOMEM)
                : failure.error(CuFileError.CUDA_DRIVER_ERROR);
    }

    private static String needs(Cuda cuda, String call) {
        for (CudaFunction function : CudaFunction.values()) {
            if (function.documentedName().equals(call) && !cuda.has(function)) {
                return "; this driver is older than CUDA " + function.since() + ", which brought " + function.symbol();
            }
        }
        return "";
    }
}
