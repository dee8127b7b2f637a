package io.gds4j.samples;

import io.gds4j.jcuda.JCudaInterop;
import jcuda.driver.CUstream;
import jcuda.driver.CUstream_flags;
import jcuda.driver.JCudaDriver;

/** A CUDA stream that JCuda made; its GPU's context is current on the thread that opened it until that closes it. */
final class GpuStream implements SampleStream {
    private final GpuContext context;
    private final CUstream stream;

    private GpuStream(GpuContext context, CUstream stream) {
        this.context = context;
        this.stream = stream;
    }

    /** A new stream that does not wait for the default one. */
    static GpuStream open(int gpu) {
        GpuContext context = GpuContext.enter(gpu);
        CUstream stream = new CUstream();
        GpuContext.check(
                "cuStreamCreate", JCudaDriver.cuStreamCreate(stream, CUstream_flags.CU_STREAM_NON_BLOCKING));
        return new GpuStream(context, stream);
    }

    /** JCuda's object. */
    CUstream stream() {
        return stream;
    }

    @Override
    public long address() {
        return JCudaInterop.stream(stream);
    }

    @Override
    public void synchronize() {
        GpuContext.check("cuStreamSynchronize", JCudaDriver.cuStreamSynchronize(stream));
    }

    @Override
    public void close() {
        JCudaDriver.cuStreamDestroy(stream);
        context.close();
    }
}
