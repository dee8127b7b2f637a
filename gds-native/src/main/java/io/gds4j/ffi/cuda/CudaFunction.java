package io.gds4j.ffi.cuda;

/**
 * The driver functions that gds4j calls, each under the name that {@code cuda.h} 13.0 selects by its defines. The name without a
 * suffix is often an older function with 32-bit sizes.
 */
public enum CudaFunction {
    INIT("cuInit"),
    DRIVER_GET_VERSION("cuDriverGetVersion"),
    DEVICE_GET_COUNT("cuDeviceGetCount"),
    DEVICE_GET("cuDeviceGet"),
    DEVICE_GET_NAME("cuDeviceGetName"),
    DEVICE_GET_UUID("cuDeviceGetUuid_v2", "11.4"),
    DEVICE_TOTAL_MEM("cuDeviceTotalMem_v2"),
    DEVICE_GET_ATTRIBUTE("cuDeviceGetAttribute"),
    DEVICE_GET_PCI_BUS_ID("cuDeviceGetPCIBusId"),
    DEVICE_CAN_ACCESS_PEER("cuDeviceCanAccessPeer"),
    DEVICE_PRIMARY_CTX_RETAIN("cuDevicePrimaryCtxRetain"),
    DEVICE_PRIMARY_CTX_RELEASE("cuDevicePrimaryCtxRelease_v2"),
    CTX_PUSH_CURRENT("cuCtxPushCurrent_v2"),
    CTX_POP_CURRENT("cuCtxPopCurrent_v2"),
    CTX_GET_CURRENT("cuCtxGetCurrent"),
    CTX_SET_CURRENT("cuCtxSetCurrent"),
    CTX_GET_ID("cuCtxGetId", "12.0"),
    CTX_ENABLE_PEER_ACCESS("cuCtxEnablePeerAccess"),
    MEM_GET_INFO("cuMemGetInfo_v2"),
    MEM_ALLOC("cuMemAlloc_v2"),
    MEM_FREE("cuMemFree_v2"),
    MEM_ALLOC_MANAGED("cuMemAllocManaged"),
    MEM_ALLOC_ASYNC("cuMemAllocAsync", "11.2"),
    MEM_FREE_ASYNC("cuMemFreeAsync", "11.2"),
    MEM_HOST_ALLOC("cuMemHostAlloc"),
    MEM_FREE_HOST("cuMemFreeHost"),
    MEM_HOST_REGISTER("cuMemHostRegister_v2"),
    MEM_HOST_UNREGISTER("cuMemHostUnregister"),
    MEM_GET_ADDRESS_RANGE("cuMemGetAddressRange_v2"),
    POINTER_GET_ATTRIBUTE("cuPointerGetAttribute"),
    POINTER_GET_ATTRIBUTES("cuPointerGetAttributes"),
    POINTER_SET_ATTRIBUTE("cuPointerSetAttribute"),
    MEM_PREFETCH_ASYNC("cuMemPrefetchAsync_v2", "12.2"),
    MEM_GET_HANDLE_FOR_ADDRESS_RANGE("cuMemGetHandleForAddressRange", "11.7"),
    FLUSH_GPU_DIRECT_RDMA_WRITES("cuFlushGPUDirectRDMAWrites"),
    MEMCPY_HTOD_ASYNC("cuMemcpyHtoDAsync_v2"),
    MEMCPY_2D_ASYNC("cuMemcpy2DAsync_v2"),
    MEMCPY_DTOH_ASYNC("cuMemcpyDtoHAsync_v2"),
    MEMCPY_DTOD_ASYNC("cuMemcpyDtoDAsync_v2"),
    MEMCPY_ASYNC("cuMemcpyAsync"),
    MEMCPY_PEER_ASYNC("cuMemcpyPeerAsync"),
    MEMCPY_3D_PEER_ASYNC("cuMemcpy3DPeerAsync"),
    MEMSET_D8_ASYNC("cuMemsetD8Async"),
    STREAM_CREATE("cuStreamCreate"),
    STREAM_CREATE_WITH_PRIORITY("cuStreamCreateWithPriority"),
    STREAM_DESTROY("cuStreamDestroy_v2"),
    STREAM_SYNCHRONIZE("cuStreamSynchronize"),
    STREAM_QUERY("cuStreamQuery"),
    STREAM_WAIT_EVENT("cuStreamWaitEvent"),
    STREAM_WAIT_VALUE32("cuStreamWaitValue32_v2", "11.7"),
    STREAM_WRITE_VALUE32("cuStreamWriteValue32_v2", "11.7"),
    STREAM_IS_CAPTURING("cuStreamIsCapturing"),
    STREAM_GET_CTX("cuStreamGetCtx"),
    THREAD_EXCHANGE_STREAM_CAPTURE_MODE("cuThreadExchangeStreamCaptureMode"),
    EVENT_CREATE("cuEventCreate"),
    EVENT_DESTROY("cuEventDestroy_v2"),
    EVENT_RECORD("cuEventRecord"),
    EVENT_SYNCHRONIZE("cuEventSynchronize"),
    EVENT_QUERY("cuEventQuery"),
    MODULE_LOAD_DATA("cuModuleLoadData"),
    MODULE_UNLOAD("cuModuleUnload"),
    MODULE_GET_FUNCTION("cuModuleGetFunction"),
    LAUNCH_KERNEL("cuLaunchKernel"),
    LAUNCH_KERNEL_EX("cuLaunchKernelEx", "11.8"),
    MEM_ADDRESS_RESERVE("cuMemAddressReserve"),
    MEM_ADDRESS_FREE("cuMemAddressFree"),
    MEM_CREATE("cuMemCreate"),
    MEM_RELEASE("cuMemRelease"),
    MEM_MAP("cuMemMap"),
    MEM_UNMAP("cuMemUnmap"),
    MEM_SET_ACCESS("cuMemSetAccess"),
    MEM_GET_ALLOCATION_GRANULARITY("cuMemGetAllocationGranularity"),
    GET_ERROR_NAME("cuGetErrorName"),
    GET_ERROR_STRING("cuGetErrorString");

    private final String symbol;
    private final String since;

    CudaFunction(String symbol) {
        this(symbol, "");
    }

    CudaFunction(String symbol, String since) {
        this.symbol = symbol;
        this.since = since;
    }

    /** Returns the name in the driver library. */
    public String symbol() {
        return symbol;
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
