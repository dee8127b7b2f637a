package io.gds4j.ffi.cufile;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.posix.PosixErrors;
import io.gds4j.spi.BatchStatus;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.StructLayout;

/**
 * Decodes what libcufile's functions return, in seven ways:
 *
 * <ul>
 * <li>{@code CUfileError_t}: a code of 5001 to 5050, with a CUDA result beside 5011; or a negative errno
 * <li>a transfer: bytes; or -1 and in errno an errno, or a code of 5001 and more; or a negative errno; or a negative code;
 * or a positive code, which is more than was asked for
 * <li>an event of a batch: bytes in a {@code size_t} that also carries negative errnos and codes
 * <li>the cell of a stream operation: bytes, a negative errno or code, or -1 alone
 * </ul>
 *
 * The result of a transfer becomes one number: bytes, or a negative errno (to -4095), or a negative code (from -5001 down).
 */
public final class CuFileResults {
    /** {@code CUfileError_t}. */
    static final StructLayout STATUS = MemoryLayout.structLayout(JAVA_INT.withName("err"), JAVA_INT.withName("cu_err"));

    private static final int MAX_ERRNO = 4095;

    private CuFileResults() {
    }

    /** {@code err} of a {@code CUfileError_t}. */
    static int error(long status) {
        return (int) status;
    }

    /** {@code cu_err} of a {@code CUfileError_t}; only meaningful beside 5011. */
    static int cudaResult(long status) {
        return (int) (status >>> Integer.SIZE);
    }

    /** Throws unless the status is success. */
    static void check(CuFileFunction function, long status) {
        if (error(status) != 0) {
            throw failure(function, status).build();
        }
    }

    /** Begins the exception for a status that is not success. */
    public static CuFileException.Builder failure(CuFileFunction function, long status) {
        int error = error(status);
        if (error == CuFileError.CUDA_DRIVER_ERROR.code()) {
            CuFileException.Builder failure = CuFileException.builder(function.cName())
                    .error(CuFileError.CUDA_DRIVER_ERROR)
                    .detail("libcufile met CUDA error " + cudaResult(status));
            return cudaResult(status) == Cuda.ERROR_OUT_OF_MEMORY ? failure.errno(Errno.ENOMEM) : failure;
        }
        return error < 0 ? failure(function.cName(), error) : ofCode(function.cName(), error);
    }

    /**
     * Bytes, a negative errno or a negative code.
     *
     * @param result what {@code cuFileRead} or {@code cuFileWrite} answered
     * @param errno as captured in the same call
     * @param size bytes that were asked for
     */
    public static long transferred(long result, int errno, long size) {
        if (result >= 0) {
            return result <= size ? result : -result;
        }
        if (result == -1) {
            return errno == 0 ? -Errno.EIO : -(long) errno;
        }
        return result;
    }

    /**
     * Bytes, a negative errno or a negative code of an event of a batch.
     *
     * @param status bit of {@code CUfileStatus_t}
     * @param result its {@code ret}
     */
    public static long transferred(BatchStatus status, long result, long size) {
        if (status == BatchStatus.COMPLETE || result < 0) {
            // There is no errno here: -1 is either EPERM or means nothing.
            return transferred(result, 0, size);
        }
        return switch (status) {
            case CANCELED -> -Errno.ECANCELED;
            case INVALID -> -CuFileError.INVALID_VALUE.code();
            case null, default -> -Errno.EIO;
        };
    }

    /** Begins the exception for a negative errno or a negative code. */
    public static CuFileException.Builder failure(String function, long negative) {
        CuFileException.Builder failure = CuFileException.builder(function);
        if (negative < 0 && negative >= -MAX_ERRNO) {
            int errno = (int) -negative;
            if (errno == Errno.EPERM || errno == Errno.EIO) {
                return failure.error(CuFileError.IO_ERROR)
                        .errno(errno)
                        .detail("libcufile failed; it reports EIO or EPERM whatever the kernel's error was");
            }
            return failure.error(PosixErrors.code(errno)).errno(errno)
                    .detail("libcufile answered " + Errno.name(errno));
        }
        return ofCode(function, negative == Long.MIN_VALUE ? Long.MAX_VALUE : -negative);
    }

    private static CuFileException.Builder ofCode(String function, long code) {
        CuFileException.Builder failure = CuFileException.builder(function);
        return CuFileError.of((int) Math.min(code, Integer.MAX_VALUE))
                .map(known -> failure.error(known).detail(known.text()))
                .orElseGet(() -> failure.error(CuFileError.INTERNAL_ERROR)
                        .detail("libcufile answered " + code + ", which cuFile does not define"));
    }
}
