package io.gds4j.samples;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.jcuda.JCudaNatives;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdevice;
import jcuda.driver.CUresult;
import jcuda.driver.JCudaDriver;

/** JCuda in the primary context of a GPU, which is the one that gds4j uses; current on this thread until it is closed. */
final class GpuContext implements AutoCloseable {
    private final CUdevice device;

    private GpuContext(CUdevice device) {
        this.device = device;
    }

    /** Loads JCuda and makes the context current. */
    static GpuContext enter(int gpu) {
        JCudaNatives.loadDriver(); // safer than JCuda's own way, which unpacks its library to a name that others know
        check("cuInit", JCudaDriver.cuInit(0));
        CUdevice device = new CUdevice();
        check("cuDeviceGet", JCudaDriver.cuDeviceGet(device, gpu));
        CUcontext context = new CUcontext();
        check("cuDevicePrimaryCtxRetain", JCudaDriver.cuDevicePrimaryCtxRetain(context, device));
        check("cuCtxPushCurrent", JCudaDriver.cuCtxPushCurrent(context));
        return new GpuContext(device);
    }

    /** JCuda answers with codes. */
    static void check(String function, int result) {
        if (result != CUresult.CUDA_SUCCESS) {
            throw CuFileException.of(CuFileError.CUDA_DRIVER_ERROR, function, CUresult.stringFor(result));
        }
    }

    @Override
    public void close() {
        JCudaDriver.cuCtxPopCurrent(new CUcontext());
        JCudaDriver.cuDevicePrimaryCtxRelease(device);
    }
}
