package io.gds4j.samples;

import io.gds4j.jcuda.JCudaInterop;
import io.gds4j.memory.MemoryRange;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUstream;
import jcuda.driver.CUstream_flags;
import jcuda.driver.JCudaDriver;

/** A CUDA stream of JCuda. The thread that opens it has the GPU's context current, until it closes the stream. */
final class GpuStream implements SampleStream {
    private final GpuContext context;
    private final GpuKernels kernels;
    private final CUstream stream;
    private final boolean owned;

    private GpuStream(GpuContext context, CUstream stream, boolean owned) {
        this.context = context;
        this.stream = stream;
        this.owned = owned;
        this.kernels = new GpuKernels();
    }

    /** Creates a stream that does not wait for the default stream. */
    static GpuStream open(int gpu) {
        GpuContext context = GpuContext.enter(gpu);
        CUstream stream = new CUstream();
        GpuContext.check(
                "cuStreamCreate", JCudaDriver.cuStreamCreate(stream, CUstream_flags.CU_STREAM_NON_BLOCKING));
        return new GpuStream(context, stream, true).warmedUp();
    }

    /** Returns the default stream of the GPU. */
    static GpuStream openDefault(int gpu) {
        return new GpuStream(GpuContext.enter(gpu), new CUstream(), false).warmedUp();
    }

    /** Launches each kernel once: a first launch loads code, and that would wait for reads queued in a stream. */
    private GpuStream warmedUp() {
        CUdeviceptr eight = new CUdeviceptr();
        GpuContext.check("cuMemAlloc", JCudaDriver.cuMemAlloc(eight, Long.BYTES));
        MemoryRange range = JCudaInterop.memory(eight, Long.BYTES);
        kernels.increment(range, stream);
        kernels.sum(range, range, 1, stream);
        synchronize();
        GpuContext.check("cuMemFree", JCudaDriver.cuMemFree(eight));
        return this;
    }

    /** Returns the stream as JCuda's object. */
    CUstream stream() {
        return stream;
    }

    /** Returns the kernels of the stream's context. */
    GpuKernels kernels() {
        return kernels;
    }

    @Override
    public long address() {
        return JCudaInterop.stream(stream);
    }

    @Override
    public void increment(MemoryRange range) {
        kernels.increment(range, stream);
    }

    @Override
    public void synchronize() {
        GpuContext.check("cuStreamSynchronize", JCudaDriver.cuStreamSynchronize(stream));
    }

    @Override
    public void close() {
        if (owned) {
            JCudaDriver.cuStreamDestroy(stream);
        }
        kernels.close();
        context.close();
    }
}
