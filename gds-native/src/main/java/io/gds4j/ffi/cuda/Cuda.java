package io.gds4j.ffi.cuda;

/**
 * The CUDA driver calls that gds4j makes, under the suffixed names that {@code cuda.h} selects. Every method returns the
 * {@code CUresult} ({@link #SUCCESS} is 0). A result goes into an array of one element. Handles and device pointers are longs.
 * {@link CudaErrors} turns a {@code CUresult} into an exception.
 *
 * <p>
 * Any thread may call. The caller makes the context current ({@link CudaContexts}).
 */
public interface Cuda {
    int SUCCESS = 0;
    int ERROR_INVALID_VALUE = 1;
    int ERROR_OUT_OF_MEMORY = 2;
    int ERROR_NOT_INITIALIZED = 3;
    int ERROR_DEINITIALIZED = 4;
    int ERROR_NO_DEVICE = 100;
    int ERROR_INVALID_DEVICE = 101;
    int ERROR_INVALID_CONTEXT = 201;
    int ERROR_INVALID_HANDLE = 400;
    int ERROR_NOT_FOUND = 500;
    int ERROR_NOT_READY = 600;
    int ERROR_ILLEGAL_ADDRESS = 700;
    int ERROR_PEER_ACCESS_ALREADY_ENABLED = 704;
    int ERROR_CONTEXT_IS_DESTROYED = 709;
    int ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712;
    int ERROR_HOST_MEMORY_NOT_REGISTERED = 713;
    int ERROR_NOT_PERMITTED = 800;
    int ERROR_NOT_SUPPORTED = 801;

    /** First and last answer to a call that a capture of a graph forbids; it may succeed after the capture. */
    int ERROR_STREAM_CAPTURE_UNSUPPORTED = 900;
    int ERROR_STREAM_CAPTURE_WRONG_THREAD = 908;

    int STREAM_NON_BLOCKING = 1;
    int EVENT_BLOCKING_SYNC = 1;
    int EVENT_DISABLE_TIMING = 2;
    int MEM_HOST_PORTABLE = 1;
    int MEM_HOST_DEVICEMAP = 2;
    /** {@link #streamWaitValue32} waits until the word is at least the value. */
    int STREAM_WAIT_VALUE_GEQ = 0;

    /** CU_STREAM_CAPTURE_MODE_GLOBAL, in which a capture ends if any thread of this mode makes an unsafe call. */
    int STREAM_CAPTURE_MODE_GLOBAL = 0;

    /** CU_STREAM_CAPTURE_MODE_RELAXED, in which a thread's calls end no capture. */
    int STREAM_CAPTURE_MODE_RELAXED = 2;
    int MEM_ATTACH_GLOBAL = 1;
    /** Largest pitch of a copy of rows in bytes (CU_DEVICE_ATTRIBUTE_MAX_PITCH of every GPU). */
    long MAX_PITCH = Integer.MAX_VALUE;
    /** {@link #flushGpuDirectRdmaWrites}: visible to the GPU of the current context. */
    int FLUSH_TO_OWNER = 100;
    /** {@link #flushGpuDirectRdmaWrites}: visible to all GPUs. */
    int FLUSH_TO_ALL_DEVICES = 200;

    int init();

    int driverGetVersion(int[] version);

    int deviceGetCount(int[] count);

    int deviceGet(int[] device, int ordinal);

    int deviceGetName(String[] name, int device);

    int deviceGetUuid(byte[] uuid, int device);

    int deviceTotalMem(long[] bytes, int device);

    int deviceGetAttribute(int[] value, int attribute, int device);

    int deviceGetPciBusId(String[] id, int device);

    /** {@code cuDeviceCanAccessPeer}: 1 if {@code device} can reach the memory of {@code peer}. */
    int deviceCanAccessPeer(int[] answer, int device, int peer);

    int devicePrimaryCtxRetain(long[] context, int device);

    int devicePrimaryCtxRelease(int device);

    int ctxPushCurrent(long context);

    int ctxPopCurrent(long[] context);

    int ctxGetCurrent(long[] context);

    /** Returns true if {@code cuCtxGetCurrent} returns this context; allocates nothing. */
    boolean ctxIsCurrent(long context);

    int ctxSetCurrent(long context);

    /** {@code cuCtxGetId}: unique over the process. */
    int ctxGetId(long context, long[] id);

    /** {@code cuCtxEnablePeerAccess}: lets the current context reach memory of {@code peer}. */
    int ctxEnablePeerAccess(long peer);

    int memGetInfo(long[] freeAndTotal);

    int memAlloc(long[] pointer, long bytes);

    int memFree(long pointer);

    int memAllocManaged(long[] pointer, long bytes, int flags);

    int memAllocAsync(long[] pointer, long bytes, long stream);

    int memFreeAsync(long pointer, long stream);

    int memHostAlloc(long[] pointer, long bytes, int flags);

    int memFreeHost(long pointer);

    int memHostRegister(long pointer, long bytes, int flags);

    int memHostUnregister(long pointer);

    int memGetAddressRange(long[] baseAndSize, long pointer);

    /** {@code cuPointerGetAttribute} for attributes of 4 or 8 bytes. */
    int pointerGetAttribute(long[] value, int attribute, long pointer);

    /**
     * {@code cuPointerGetAttributes}: several attributes of 4 or 8 bytes at once. They are 0 for an address that the driver does not
     * know.
     *
     * @param values receives a value for each attribute
     * @param attributes at most 16
     */
    int pointerGetAttributes(long[] values, int[] attributes, long pointer);

    /** {@code cuPointerSetAttribute} for attributes of 4 bytes. */
    int pointerSetAttribute(int value, int attribute, long pointer);

    /** {@code cuMemPrefetchAsync} of managed memory to a GPU, or to the host if {@code device} is below 0. */
    int memPrefetchAsync(long pointer, long bytes, int device, long stream);

    /** {@code cuMemGetHandleForAddressRange} of a dma-buf: a descriptor that the caller owns. */
    int memGetDmaBuf(int[] fd, long pointer, long bytes);

    /** {@code cuFlushGPUDirectRDMAWrites} of the current context's GPU. */
    int flushGpuDirectRdmaWrites(int scope);

    int memcpyHtoDAsync(long device, long host, long bytes, long stream);

    /**
     * {@code cuMemcpy2DAsync} of adjacent rows: copies {@code width * rows} bytes as {@link #memcpyHtoDAsync}, but by a copy engine. The
     * driver puts small plain copies, and those of a single row, into the queue of commands.
     */
    int memcpyRowsHtoDAsync(long device, long host, long width, long rows, long stream);

    /**
     * {@code cuMemcpy2DAsync} from the host to a device.
     *
     * @param devicePitch distance of two rows in bytes, {@code width} to {@link #MAX_PITCH}
     * @param hostPitch as {@code devicePitch}
     */
    int memcpy2DHtoDAsync(
            long device, long devicePitch, long host, long hostPitch, long width, long rows, long stream);

    /** {@code cuMemcpy2DAsync} from a device to the host, with pitches as of {@link #memcpy2DHtoDAsync}. */
    int memcpy2DDtoHAsync(
            long host, long hostPitch, long device, long devicePitch, long width, long rows, long stream);

    /** {@code cuMemcpy2DAsync} within a device, with pitches as of {@link #memcpy2DHtoDAsync}. */
    int memcpy2DDtoDAsync(long to, long toPitch, long from, long fromPitch, long width, long rows, long stream);

    int memcpyDtoHAsync(long host, long device, long bytes, long stream);

    int memcpyDtoDAsync(long to, long from, long bytes, long stream);

    /** {@code cuMemcpyAsync}: kinds and devices by unified addressing. */
    int memcpyAsync(long to, long from, long bytes, long stream);

    /** {@code cuMemcpyPeerAsync}: between device memory of two contexts, in a stream of the current one. */
    int memcpyPeerAsync(long to, long toContext, long from, long fromContext, long bytes, long stream);

    /**
     * {@code cuMemcpy3DPeerAsync} of rows: as {@link #memcpyPeerAsync}, with pitches as of {@link #memcpy2DHtoDAsync}.
     */
    int memcpyRowsPeerAsync(
            long to, long toContext, long toPitch, long from, long fromContext, long fromPitch, long width, long rows,
            long stream);

    int memsetD8Async(long pointer, byte value, long bytes, long stream);

    int streamCreate(long[] stream, int flags);

    /**
     * {@code cuStreamCreateWithPriority}.
     *
     * @param priority lower is more urgent; the driver clamps it
     */
    int streamCreateWithPriority(long[] stream, int flags, int priority);

    int streamDestroy(long stream);

    int streamSynchronize(long stream);

    int streamQuery(long stream);

    int streamWaitEvent(long stream, long event, int flags);

    /** {@code cuStreamWaitValue32}: the stream passes once the 32-bit word at {@code address} satisfies the flags. */
    int streamWaitValue32(long stream, long address, int value, int flags);

    /** {@code cuStreamWriteValue32}: sets the 32-bit word at {@code address} when the stream reaches the call. */
    int streamWriteValue32(long stream, long address, int value);

    /** {@code cuStreamIsCapturing}: 0 if the stream is not being captured into a graph. */
    int streamIsCapturing(long stream, int[] status);

    /**
     * {@code cuThreadExchangeStreamCaptureMode}: sets how the calling thread's calls affect captures of graphs.
     *
     * @param mode the new mode, for example {@link #STREAM_CAPTURE_MODE_RELAXED}; replaced by the mode before
     */
    int threadExchangeStreamCaptureMode(long[] mode);

    /** {@code cuStreamGetCtx}. */
    int streamGetCtx(long stream, long[] context);

    int eventCreate(long[] event, int flags);

    int eventDestroy(long event);

    int eventRecord(long event, long stream);

    int eventSynchronize(long event);

    int eventQuery(long event);

    /** {@code cuModuleLoadData} of PTX text into the current context. */
    int moduleLoad(long[] module, String ptx);

    int moduleUnload(long module);

    int moduleGetFunction(long[] function, long module, String name);

    /**
     * {@code cuLaunchKernel} of one row of blocks.
     *
     * @param first the kernel's first parameter, of 8 bytes
     * @param second the kernel's second parameter, of 8 bytes; not read if it has only one
     * @param third the kernel's third parameter, of 8 bytes; not read if it has fewer
     */
    int launchKernel(
            long function, int blocks, int threadsPerBlock, long first, long second, long third, long stream);

    /**
     * {@code cuLaunchKernelEx} of one row of blocks that may begin early: if the work before them in the stream is a kernel, once each of
     * its blocks has called {@code griddepcontrol.launch_dependents}. Else as {@link #launchKernel}.
     */
    int launchKernelEarly(long function, int blocks, int threadsPerBlock, long first, long second, long stream);

    /** {@code cuMemAddressReserve}. */
    int memAddressReserve(long[] pointer, long bytes, long alignment);

    int memAddressFree(long pointer, long bytes);

    /** {@code cuMemCreate} of pinned memory of a device, GPUDirect-RDMA-capable if {@code rdma}. */
    int memCreate(long[] handle, long bytes, int device, boolean rdma);

    int memRelease(long handle);

    int memMap(long pointer, long bytes, long offset, long handle);

    int memUnmap(long pointer, long bytes);

    /** {@code cuMemSetAccess}: read and write for one device. */
    int memSetAccess(long pointer, long bytes, int device);

    /** {@code cuMemGetAllocationGranularity}, the recommended one. */
    int memGetAllocationGranularity(long[] bytes, int device);

    /** Returns false if the driver is too old for a function, whose method returns {@link #ERROR_NOT_FOUND} then. */
    default boolean has(CudaFunction function) {
        return true;
    }

    /** {@code cuGetErrorName}, or {@code "CUDA error N"}. */
    String errorName(int result);

    /** {@code cuGetErrorString}, or an empty text. */
    String errorText(int result);
}
