package io.gds4j.ffi.cuda;

/** Numbers of {@code CUpointer_attribute}, {@code CUdevice_attribute} and {@code CUmemorytype} that gds4j reads. */
public final class CudaAttributes {
    /** CUcontext of the allocation; 0 for memory without a context, such as that of pools. */
    public static final int POINTER_CONTEXT = 1;
    /** One of MEMORY_TYPE_*. */
    public static final int POINTER_MEMORY_TYPE = 2;
    /** 1 makes synchronous copies of the allocation complete on return, as other devices see them. */
    public static final int POINTER_SYNC_MEMOPS = 6;
    /** Number of the allocation, unique over the process. */
    public static final int POINTER_BUFFER_ID = 7;
    /** 1 for managed memory. */
    public static final int POINTER_IS_MANAGED = 8;
    public static final int POINTER_DEVICE_ORDINAL = 9;
    public static final int POINTER_RANGE_START = 11;
    public static final int POINTER_RANGE_SIZE = 12;
    /** CUmemoryPool of the allocation; 0 for none. */
    public static final int POINTER_MEMPOOL_HANDLE = 17;

    public static final int MEMORY_TYPE_HOST = 1;
    public static final int MEMORY_TYPE_DEVICE = 2;
    public static final int MEMORY_TYPE_ARRAY = 3;
    public static final int MEMORY_TYPE_UNIFIED = 4;

    public static final int DEVICE_COMPUTE_CAPABILITY_MAJOR = 75;
    public static final int DEVICE_COMPUTE_CAPABILITY_MINOR = 76;
    public static final int DEVICE_MANAGED_MEMORY = 83;
    /** Processors may touch managed memory while kernels run. */
    public static final int DEVICE_CONCURRENT_MANAGED_ACCESS = 89;
    public static final int DEVICE_VIRTUAL_MEMORY_MANAGEMENT = 102;
    public static final int DEVICE_MEMORY_POOLS = 115;
    public static final int DEVICE_GPU_DIRECT_RDMA = 116;
    public static final int DEVICE_GPU_DIRECT_RDMA_WITH_VMM = 110;
    /** Bits: 1 the host may flush writes of other devices by cuFlushGPUDirectRDMAWrites, 2 by memory operations of streams. */
    public static final int DEVICE_RDMA_FLUSH_WRITES_OPTIONS = 117;
    /** Work that sees writes of other devices without a flush: 0 none, 100 that of this GPU, 200 that of all GPUs. */
    public static final int DEVICE_RDMA_WRITES_ORDERING = 118;
    public static final int DEVICE_DMA_BUF = 124;
    /** Host memory of cuMemHostAlloc can be exported as a dma-buf. */
    public static final int DEVICE_HOST_ALLOC_DMA_BUF = 145;

    private CudaAttributes() {
    }
}
