package io.gds4j.tools.io;

import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaDriver;
import io.gds4j.ffi.cuda.CudaErrors;
import io.gds4j.tools.terminal.CommandFailure;

/** A non-blocking CUDA stream in the primary context of a GPU, for use by one thread. */
final class GpuStream implements AutoCloseable {
    private final CudaContexts contexts;
    private final Cuda cuda;
    private final long context;
    private final long stream;

    private GpuStream(CudaContexts contexts, long context, long stream) {
        this.contexts = contexts;
        this.cuda = contexts.cuda();
        this.context = context;
        this.stream = stream;
    }

    /** Creates a stream on a GPU. */
    static GpuStream on(int device) {
        if (!(CudaDriver.detect() instanceof CudaAvailability.Available gpus)) {
            throw CommandFailure.device("NO_GPU", "a CUDA stream needs a GPU, but there is none");
        }
        CudaContexts contexts = gpus.contexts();
        long context = contexts.primary(device);
        long[] made = new long[1];
        check(contexts.cuda(), "cuStreamCreate",
                contexts.in(context, () -> contexts.cuda().streamCreate(made, Cuda.STREAM_NON_BLOCKING)));
        return new GpuStream(contexts, context, made[0]);
    }

    /** Raw {@code CUstream}. */
    long address() {
        return stream;
    }

    /** Starts a copy from host memory. */
    void copyToDevice(long device, long host, long bytes) {
        check(cuda, "cuMemcpyHtoDAsync",
                contexts.in(context, () -> cuda.memcpyHtoDAsync(device, host, bytes, stream)));
    }

    /** Starts a copy to host memory. */
    void copyToHost(long host, long device, long bytes) {
        check(cuda, "cuMemcpyDtoHAsync",
                contexts.in(context, () -> cuda.memcpyDtoHAsync(host, device, bytes, stream)));
    }

    /** Creates an event. */
    long event() {
        long[] made = new long[1];
        check(cuda, "cuEventCreate",
                contexts.in(context, () -> cuda.eventCreate(made, Cuda.EVENT_DISABLE_TIMING)));
        return made[0];
    }

    /** Records an event after the copies started so far. */
    void record(long event) {
        check(cuda, "cuEventRecord", contexts.in(context, () -> cuda.eventRecord(event, stream)));
    }

    /** Waits for an event. */
    void await(long event) {
        check(cuda, "cuEventSynchronize", contexts.in(context, () -> cuda.eventSynchronize(event)));
    }

    /** Destroys an event. */
    void destroy(long event) {
        CudaErrors.checkFreed(cuda, "cuEventDestroy", contexts.in(context, () -> cuda.eventDestroy(event)));
    }

    /** Waits for all copies started so far. */
    void synchronize() {
        check(cuda, "cuStreamSynchronize", contexts.in(context, () -> cuda.streamSynchronize(stream)));
    }

    private static void check(Cuda cuda, String call, int result) {
        CudaErrors.check(cuda, call, result);
    }

    @Override
    public void close() {
        CudaErrors.checkFreed(cuda, "cuStreamDestroy", contexts.in(context, () -> cuda.streamDestroy(stream)));
    }
}
