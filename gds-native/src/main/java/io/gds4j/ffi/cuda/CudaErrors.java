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

    /** Begins the exception for a failed driver call: NOMEM_ERROR when memory ran out, else CUDA_DRIVER_ERROR. */
    public static CuFileException.Builder failure(Cuda cuda, String call, int result) {
        CuFileException.Builder failure = CuFileException.builder(call)
                .detail("%s: %s".formatted(cuda.errorName(result), cuda.errorText(result)));
        return result == Cuda.ERROR_OUT_OF_MEMORY
                ? failure.error(CuFileError.NOMEM_ERROR).errno(Errno.ENOMEM)
                : failure.error(CuFileError.CUDA_DRIVER_ERROR);
    }
}
