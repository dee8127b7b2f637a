package io.gds4j.interop.dlpack;

import io.gds4j.error.CuFileError;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaDriver;
import io.gds4j.ffi.cuda.CudaErrors;

/**
 * The stream rule of DLPack: the consumer names its CUDA stream, and the producer makes that stream wait for the data.
 *
 * <p>
 * {@code CuFileHandle.read}, loads and completed futures and batches need no order: their data is visible to every stream. Use
 * this class for memory that a {@code CuFileStream} fills.
 *
 * @since 0.1
 */
public final class DlPackStreams {
    /** The consumer does not want order ({@code stream=-1}). */
    public static final long NO_ORDER = -1;
    /** The consumer uses the legacy default stream. */
    public static final long LEGACY_DEFAULT = 1;
    /** The consumer uses the default stream of its thread. */
    public static final long PER_THREAD_DEFAULT = 2;

    private DlPackStreams() {
    }

    /**
     * Makes the consumer's stream wait for all work that the producer's stream has now. Returns at once. Thread-safe.
     *
     * @param producer raw {@code CUstream}, such as {@code CuFileStream.address()}; its context is used
     * @param consumer the number that the consumer passed to {@code __dlpack__}: -1, 1, 2 or a raw {@code CUstream}
     * @throws io.gds4j.error.CuFileException INVALID_VALUE for 0, which DLPack forbids, and for other negative numbers; DEVICE_NOT_FOUND
     *         without a GPU; CUDA_DRIVER_ERROR if the driver refuses
     */
    public static void order(long producer, long consumer) {
        order(CudaDriver.detect(), producer, consumer);
    }

    static void order(CudaAvailability availability, long producer, long consumer) {
        if (consumer == 0 || consumer < NO_ORDER) {
            throw Refusals.invalid("stream %s is not allowed; use -1, 1 (legacy default), 2 (per thread) or a CUstream"
                    .formatted(consumer));
        }
        if (consumer == NO_ORDER || consumer == producer) {
            return;
        }
        if (availability instanceof CudaAvailability.Unavailable none) {
            throw Refusals.of(CuFileError.DEVICE_NOT_FOUND, none.reason());
        }
        Cuda cuda = availability.cuda().orElseThrow();
        long[] context = new long[1];
        CudaErrors.check(cuda, "cuStreamGetCtx", cuda.streamGetCtx(producer, context));
        CudaContexts contexts = availability.cudaContexts().orElseThrow();
        CudaErrors.check(
                cuda, "cuStreamWaitEvent", contexts.in(context[0], () -> waitFor(cuda, producer, consumer)));
    }

    private static int waitFor(Cuda cuda, long producer, long consumer) {
        long[] event = new long[1];
        int result = cuda.eventCreate(event, Cuda.EVENT_DISABLE_TIMING);
        if (result != Cuda.SUCCESS) {
            return result;
        }
        result = cuda.eventRecord(event[0], producer);
        if (result == Cuda.SUCCESS) {
            result = cuda.streamWaitEvent(consumer, event[0], 0);
        }
        // The driver keeps an event that a stream waits for.
        int destroyed = cuda.eventDestroy(event[0]);
        return result == Cuda.SUCCESS ? destroyed : result;
    }
}
