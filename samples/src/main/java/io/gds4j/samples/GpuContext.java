package io.gds4j.samples;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.jcuda.JCudaNatives;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdevice;
import jcuda.driver.CUresult;
import jcuda.driver.JCudaDriver;

/** Makes the primary context of a GPU, which gds4j uses, too, current for JCuda on this thread until it is closed. */
final class GpuContext implements AutoCloseable {
    private final CUdevice device;

    private GpuContext(CUdevice device) {
        this.device = device;
    }

    /** Loads JCuda and makes the context current. */
    static GpuContext enter(int gpu) {
        JCudaNatives.loadDriver(); // JCuda itself would unpack its library to a predictable file name
        check("cuInit", JCudaDriver.cuInit(0));
        CUdevice device = new CUdevice();
        check("cuDeviceGet", JCudaDriver.cuDeviceGet(device, gpu));
        CUcontext context = new CUcontext();
        check("cuDevicePrimaryCtxRetain", JCudaDriver.cuDevicePrimaryCtxRetain(context, device));
        check("cuCtxPushCurrent", JCudaDriver.cuCtxPushCurrent(context));
        return new GpuContext(device);
    }

    /** Throws for a result code other than CUDA_SUCCESS. */
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
