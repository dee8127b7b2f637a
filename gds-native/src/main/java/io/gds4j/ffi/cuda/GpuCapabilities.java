package io.gds4j.ffi.cuda;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;

/**
 * Capabilities of a GPU and its driver for other devices.
 *
 * @param rdma other devices reach its memory (GPUDirect RDMA, by the legacy way of nvidia-peermem)
 * @param rdmaWithVmm also memory of the virtual memory management calls
 * @param dmaBuf its memory can be exported as a dma-buf
 * @param hostAllocDmaBuf host memory of the driver can be exported as a dma-buf
 * @param flushFromHost the host can flush writes of other devices (cuFlushGPUDirectRDMAWrites)
 * @param writesOrdering the GPUs whose work sees writes of other devices without a flush
 */
public record GpuCapabilities(
        boolean rdma,
        boolean rdmaWithVmm,
        boolean dmaBuf,
        boolean hostAllocDmaBuf,
        boolean flushFromHost,
        Ordering writesOrdering) {
    /** The GPUs whose work sees writes of other devices that were complete before its launch. */
    public enum Ordering {
        /** None: writes need a flush. */
        NONE,
        /** The GPU that was written to. */
        OWNER,
        /** All GPUs. */
        ALL_DEVICES
    }

    private static final int HOST_FLUSH = 1;
    private static final int OWNER = 100;
    private static final int ALL_DEVICES = 200;

    /**
     * Asks the driver; makes no context.
     *
     * @param ordinal 0 for the first GPU
     * @throws CuFileException DEVICE_NOT_FOUND if there is no such GPU
     */
    public static GpuCapabilities of(Cuda cuda, int ordinal) {
        int[] device = new int[1];
        if (cuda.deviceGet(device, ordinal) != Cuda.SUCCESS) {
            throw CuFileException.of(CuFileError.DEVICE_NOT_FOUND, "cuDeviceGet", "there is no GPU " + ordinal);
        }
        int gpu = device[0];
        int ordering = ask(cuda, CudaAttributes.DEVICE_RDMA_WRITES_ORDERING, gpu);
        return new GpuCapabilities(
                ask(cuda, CudaAttributes.DEVICE_GPU_DIRECT_RDMA, gpu) != 0,
                ask(cuda, CudaAttributes.DEVICE_GPU_DIRECT_RDMA_WITH_VMM, gpu) != 0,
                ask(cuda, CudaAttributes.DEVICE_DMA_BUF, gpu) != 0,
                ask(cuda, CudaAttributes.DEVICE_HOST_ALLOC_DMA_BUF, gpu) != 0,
                (ask(cuda, CudaAttributes.DEVICE_RDMA_FLUSH_WRITES_OPTIONS, gpu) & HOST_FLUSH) != 0,
                ordering >= ALL_DEVICES ? Ordering.ALL_DEVICES : ordering >= OWNER ? Ordering.OWNER : Ordering.NONE);
    }

    /** Returns 0 for an attribute that the driver does not know. */
    private static int ask(Cuda cuda, int attribute, int device) {
        int[] value = new int[1];
        return cuda.deviceGetAttribute(value, attribute, device) == Cuda.SUCCESS ? value[0] : 0;
    }
}
