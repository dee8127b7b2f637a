package io.gds4j.samples;

import io.gds4j.jcuda.JCudaInterop;
import io.gds4j.memory.MemoryRange;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUstream;
import jcuda.driver.CUstream_flags;
import jcuda.driver.JCudaDriver;

/** A CUDA stream of JCuda's; its GPU's context is current on the thread that opened it until that closes it. */
final class GpuStream implements SampleStream {
    private final GpuContext context;
    private final GpuKernels kernels;
    private final CUstream stream;
    private final boolean made;

    private GpuStream(GpuContext context, CUstream stream, boolean made) {
        this.context = context;
        this.stream = stream;
        this.made = made;
        this.kernels = new GpuKernels();
    }

    /** A new stream that does not wait for the default one. */
    static GpuStream open(int gpu) {
        GpuContext context = GpuContext.enter(gpu);
        CUstream stream = new CUstream();
        GpuContext.check(
                "cuStreamCreate", JCudaDriver.cuStreamCreate(stream, CUstream_flags.CU_STREAM_NON_BLOCKING));
        return new GpuStream(context, stream, true).warmedUp();
    }

    /** The default stream, which is always there. */
    static GpuStream openDefault(int gpu) {
        return new GpuStream(GpuContext.enter(gpu), new CUstream(), false).warmedUp();
    }

    /** A kernel's code is loaded by its first launch, which would wait for reads that are queued in a stream. */
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

    /** JCuda's object. */
    CUstream stream() {
        return stream;
    }

    /** Kernels to launch in it. */
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
        if (made) {
            JCudaDriver.cuStreamDestroy(stream);
        }
        kernels.close();
        context.close();
    }
}
