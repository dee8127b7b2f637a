package io.gds4j.ffi.cuda;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;

/** Turns a {@code CUresult} into an exception. */
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
     * Throws unless the call succeeded, or failed because the context is gone with what it should free: {@link #isGone}.
     *
     * @param call C name of the driver function
     */
    public static void checkFreed(Cuda cuda, String call, int result) {
        if (!isGone(result)) {
            check(cuda, call, result);
        }
    }

    /**
     * Returns true for failures that report a destroyed context, or the end of the driver at the end of the process. Memory, streams
     * and events ended with it and need no freeing.
     */
    public static boolean isGone(int result) {
        return result == Cuda.ERROR_DEINITIALIZED
                || result == Cuda.ERROR_CONTEXT_IS_DESTROYED
                || result == Cuda.ERROR_INVALID_CONTEXT;
    }

    /** Returns true for failures of calls that the program's capture of a graph forbids. They may succeed after the capture. */
    public static boolean isOfCapture(int result) {
        return result >= Cuda.ERROR_STREAM_CAPTURE_UNSUPPORTED && result <= Cuda.ERROR_STREAM_CAPTURE_WRONG_THREAD;
    }

    /** Begins the exception of a failed driver call: NOMEM_ERROR if memory ran out, else CUDA_DRIVER_ERROR. */
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
