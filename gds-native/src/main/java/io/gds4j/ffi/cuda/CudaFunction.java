package io.gds4j.ffi.cuda;

/**
 * The driver functions that gds4j calls, each under the name that {@code cuda.h} 13.0 selects by its defines. The name without a
 * suffix is often an older function with 32-bit sizes.
 */
public enum CudaFunction {
    INIT("cuInit", "I"),
    DRIVER_GET_VERSION("cuDriverGetVersion", "P"),
    DEVICE_GET_COUNT("cuDeviceGetCount", "P"),
    DEVICE_GET("cuDeviceGet", "PI"),
    DEVICE_GET_NAME("cuDeviceGetName", "PII"),
    DEVICE_GET_UUID("cuDeviceGetUuid_v2", "PI", "11.4"),
    DEVICE_TOTAL_MEM("cuDeviceTotalMem_v2", "PI"),
    DEVICE_GET_ATTRIBUTE("cuDeviceGetAttribute", "PII"),
    DEVICE_GET_PCI_BUS_ID("cuDeviceGetPCIBusId", "PII"),
    DEVICE_CAN_ACCESS_PEER("cuDeviceCanAccessPeer", "PII"),
    DEVICE_PRIMARY_CTX_RETAIN("cuDevicePrimaryCtxRetain", "PI"),
    DEVICE_PRIMARY_CTX_RELEASE("cuDevicePrimaryCtxRelease_v2", "I"),
    CTX_PUSH_CURRENT("cuCtxPushCurrent_v2", "L"),
    CTX_POP_CURRENT("cuCtxPopCurrent_v2", "P"),
    CTX_GET_CURRENT("cuCtxGetCurrent", "P"),
    CTX_SET_CURRENT("cuCtxSetCurrent", "L"),
    CTX_GET_ID("cuCtxGetId", "LP", "12.0"),
    CTX_ENABLE_PEER_ACCESS("cuCtxEnablePeerAccess", "LI"),
    MEM_GET_INFO("cuMemGetInfo_v2", "PP"),
    MEM_ALLOC("cuMemAlloc_v2", "PL"),
    MEM_FREE("cuMemFree_v2", "L"),
    MEM_ALLOC_MANAGED("cuMemAllocManaged", "PLI"),
    MEM_ALLOC_ASYNC("cuMemAllocAsync", "PLL", "11.2"),
    MEM_FREE_ASYNC("cuMemFreeAsync", "LL", "11.2"),
    MEM_HOST_ALLOC("cuMemHostAlloc", "PLI"),
    MEM_FREE_HOST("cuMemFreeHost", "L"),
    MEM_HOST_REGISTER("cuMemHostRegister_v2", "LLI"),
    MEM_HOST_UNREGISTER("cuMemHostUnregister", "L"),
    MEM_GET_ADDRESS_RANGE("cuMemGetAddressRange_v2", "PPL"),
    POINTER_GET_ATTRIBUTE("cuPointerGetAttribute", "PIL"),
    POINTER_GET_ATTRIBUTES("cuPointerGetAttributes", "IPPL"),
    POINTER_SET_ATTRIBUTE("cuPointerSetAttribute", "PIL"),
    MEM_PREFETCH_ASYNC("cuMemPrefetchAsync_v2", "LLLIL", "12.2"),
    MEM_GET_HANDLE_FOR_ADDRESS_RANGE("cuMemGetHandleForAddressRange", "PLLIL", "11.7"),
    FLUSH_GPU_DIRECT_RDMA_WRITES("cuFlushGPUDirectRDMAWrites", "II"),
    MEMCPY_HTOD_ASYNC("cuMemcpyHtoDAsync_v2", "LLLL"),
    MEMCPY_2D_ASYNC("cuMemcpy2DAsync_v2", "PL"),
    MEMCPY_DTOH_ASYNC("cuMemcpyDtoHAsync_v2", "LLLL"),
    MEMCPY_DTOD_ASYNC("cuMemcpyDtoDAsync_v2", "LLLL"),
    MEMCPY_ASYNC("cuMemcpyAsync", "LLLL"),
    MEMCPY_PEER_ASYNC("cuMemcpyPeerAsync", "LLLLLL"),
    MEMCPY_3D_PEER_ASYNC("cuMemcpy3DPeerAsync", "PL"),
    MEMSET_D8_ASYNC("cuMemsetD8Async", "LBLL"),
    STREAM_CREATE("cuStreamCreate", "PI"),
    STREAM_CREATE_WITH_PRIORITY("cuStreamCreateWithPriority", "PII"),
    STREAM_DESTROY("cuStreamDestroy_v2", "L"),
    STREAM_SYNCHRONIZE("cuStreamSynchronize", "L"),
    STREAM_QUERY("cuStreamQuery", "L"),
    STREAM_WAIT_EVENT("cuStreamWaitEvent", "LLI"),
    STREAM_WAIT_VALUE32("cuStreamWaitValue32_v2", "LLII", "11.7"),
    STREAM_WRITE_VALUE32("cuStreamWriteValue32_v2", "LLII", "11.7"),
    STREAM_IS_CAPTURING("cuStreamIsCapturing", "LP"),
    STREAM_GET_CTX("cuStreamGetCtx", "LP"),
    THREAD_EXCHANGE_STREAM_CAPTURE_MODE("cuThreadExchangeStreamCaptureMode", "P"),
    EVENT_CREATE("cuEventCreate", "PI"),
    EVENT_DESTROY("cuEventDestroy_v2", "L"),
    EVENT_RECORD("cuEventRecord", "LL"),
    EVENT_SYNCHRONIZE("cuEventSynchronize", "L"),
    EVENT_QUERY("cuEventQuery", "L"),
    MODULE_LOAD_DATA("cuModuleLoadData", "PP"),
    MODULE_UNLOAD("cuModuleUnload", "L"),
    MODULE_GET_FUNCTION("cuModuleGetFunction", "PLP"),
    LAUNCH_KERNEL("cuLaunchKernel", "LIIIIIIILPL"),
    LAUNCH_KERNEL_EX("cuLaunchKernelEx", "PLPL", "11.8"),
    MEM_ADDRESS_RESERVE("cuMemAddressReserve", "PLLLL"),
    MEM_ADDRESS_FREE("cuMemAddressFree", "LL"),
    MEM_CREATE("cuMemCreate", "PLPL"),
    MEM_RELEASE("cuMemRelease", "L"),
    MEM_MAP("cuMemMap", "LLLLL"),
    MEM_UNMAP("cuMemUnmap", "LL"),
    MEM_SET_ACCESS("cuMemSetAccess", "LLPL"),
    MEM_GET_ALLOCATION_GRANULARITY("cuMemGetAllocationGranularity", "PPI"),
    GET_ERROR_NAME("cuGetErrorName", "IP"),
    GET_ERROR_STRING("cuGetErrorString", "IP");

    private final String symbol;
    private final String shape;
    private final String since;

    CudaFunction(String symbol, String shape) {
        this(symbol, shape, "");
    }

    CudaFunction(String symbol, String shape, String since) {
        this.symbol = symbol;
        this.shape = shape;
        this.since = since;
    }

    /** Returns the name in the driver library. */
    public String symbol() {
        return symbol;
    }

    /**
     * Returns the C types of its parameters, a letter for each: I for int or unsigned int, L for a size, a handle or an address, B for a
     * byte, P for a pointer to memory of the caller.
     */
    String shape() {
        return shape;
    }

    /** Returns the name in the documentation, without a suffix. */
    public String documentedName() {
        return symbol.replaceFirst("_v[0-9]+$", "");
    }

    /** Returns the first CUDA version that has an optional function; empty for a required one. */
    public String since() {
        return since;
    }

    /** Returns true if gds4j refuses a driver without it. */
    public boolean isRequired() {
        return since.isEmpty();
    }
}
