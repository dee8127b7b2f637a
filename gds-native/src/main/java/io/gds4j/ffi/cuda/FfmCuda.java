package io.gds4j.ffi.cuda;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gds4j.ffi.CString;
import io.gds4j.ffi.CallState;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * The CUDA driver library through FFM. Out-parameters are in memory of the calling thread, so that a call allocates nothing.
 */
final class FfmCuda implements Cuda {
    private static final long TEXT_BYTES = 256;
    private static final long MAX_MESSAGE = 1024;
    private static final long SECOND = Long.BYTES;
    private static final long PARAMETER_BYTES = 6 * SECOND;
    private static final int GRANULARITY_RECOMMENDED = 1;
    private static final int MAX_ATTRIBUTES = 16;
    private static final int RANGE_HANDLE_DMA_BUF = 1;
    private static final int FLUSH_CURRENT_CONTEXT = 0;

    private final CudaCalls calls;
    /** A copy of the entry in {@link #calls}: each object on the path of a short transfer costs nanoseconds. */
    private final MemorySegment getCurrent;

    private final boolean isNative;

    /**
     * Uses the symbols of a driver library that stays loaded. Check {@link #missing} before the first call.
     */
    public FfmCuda(SymbolLookup library) {
        this(library, false);
    }

    private FfmCuda(SymbolLookup library, boolean isNative) {
        this.calls = new CudaCalls(library);
        this.getCurrent = calls.entry(CudaFunction.CTX_GET_CURRENT);
        this.isNative = isNative;
    }

    /**
     * Like the constructor, for a library of native functions only: a test double has upcalls among them. {@link #ctxIsCurrent}, which
     * each transfer calls, then skips the transition from Java to native code.
     */
    static FfmCuda ofNative(SymbolLookup library) {
        return new FfmCuda(library, true);
    }

    /** Returns the required functions that the library lacks; calling them throws. */
    public List<String> missing() {
        return List.copyOf(calls.missing());
    }

    @Override
    public boolean has(CudaFunction function) {
        return calls.has(function);
    }

    @Override
    public int init() {
        return calls.call(CudaFunction.INIT, 0);
    }

    @Override
    public int driverGetVersion(int[] version) {
        MemorySegment out = CallState.current().scratch();
        return answer(calls.call(CudaFunction.DRIVER_GET_VERSION, out.address()), out, version);
    }

    @Override
    public int deviceGetCount(int[] count) {
        MemorySegment out = CallState.current().scratch();
        return answer(calls.call(CudaFunction.DEVICE_GET_COUNT, out.address()), out, count);
    }

    @Override
    public int deviceGet(int[] device, int ordinal) {
        MemorySegment out = CallState.current().scratch();
        return answer(calls.call(CudaFunction.DEVICE_GET, out.address(), ordinal), out, device);
    }

    @Override
    public int deviceGetName(String[] name, int device) {
        MemorySegment out = CallState.current().scratch();
        int result = calls.call(CudaFunction.DEVICE_GET_NAME, out.address(), (int) TEXT_BYTES, device);
        return answer(result, out, name);
    }

    @Override
    public int deviceGetUuid(byte[] uuid, int device) {
        if (!has(CudaFunction.DEVICE_GET_UUID)) {
            return ERROR_NOT_FOUND;
        }
        MemorySegment out = CallState.current().scratch();
        int result = calls.call(CudaFunction.DEVICE_GET_UUID, out.address(), device);
        if (result == SUCCESS) {
            MemorySegment.copy(out, JAVA_BYTE, 0, uuid, 0, 16);
        }
        return result;
    }

    @Override
    public int deviceTotalMem(long[] bytes, int device) {
        MemorySegment out = CallState.current().scratch();
        return answer(calls.call(CudaFunction.DEVICE_TOTAL_MEM, out.address(), device), out, bytes);
    }

    @Override
    public int deviceGetAttribute(int[] value, int attribute, int device) {
        MemorySegment out = CallState.current().scratch();
        return answer(calls.call(CudaFunction.DEVICE_GET_ATTRIBUTE, out.address(), attribute, device), out, value);
    }

    @Override
    public int deviceCanAccessPeer(int[] answer, int device, int peer) {
        MemorySegment out = CallState.current().scratch();
        return answer(calls.call(CudaFunction.DEVICE_CAN_ACCESS_PEER, out.address(), device, peer), out, answer);
    }

    @Override
    public int deviceGetPciBusId(String[] id, int device) {
        MemorySegment out = CallState.current().scratch();
        int result = calls.call(CudaFunction.DEVICE_GET_PCI_BUS_ID, out.address(), (int) TEXT_BYTES, device);
        return answer(result, out, id);
    }

    @Override
    public int devicePrimaryCtxRetain(long[] context, int device) {
        MemorySegment out = CallState.current().scratch();
        return answer(calls.call(CudaFunction.DEVICE_PRIMARY_CTX_RETAIN, out.address(), device), out, context);
    }

    @Override
    public int devicePrimaryCtxRelease(int device) {
        return calls.call(CudaFunction.DEVICE_PRIMARY_CTX_RELEASE, device);
    }

    @Override
    public int ctxPushCurrent(long context) {
        return calls.call(CudaFunction.CTX_PUSH_CURRENT, context);
    }

    @Override
    public int ctxPopCurrent(long[] context) {
        MemorySegment out = CallState.current().scratch();
        return answer(calls.call(CudaFunction.CTX_POP_CURRENT, out.address()), out, context);
    }

    @Override
    public int ctxGetCurrent(long[] context) {
        MemorySegment out = CallState.current().scratch();
        return answer(calls.call(CudaFunction.CTX_GET_CURRENT, out.address()), out, context);
    }

    @Override
    public boolean ctxIsCurrent(long context) {
        MemorySegment out = CallState.current().scratch();
        int result =
                isNative ? CudaCalls.look(getCurrent, out) : calls.call(CudaFunction.CTX_GET_CURRENT, out.address());
        return result == SUCCESS && out.get(JAVA_LONG, 0) == context;
    }

    @Override
    public int ctxSetCurrent(long context) {
        return calls.call(CudaFunction.CTX_SET_CURRENT, context);
    }

    @Override
    public int ctxGetId(long context, long[] id) {
        if (!has(CudaFunction.CTX_GET_ID)) {
            return ERROR_NOT_FOUND;
        }
        MemorySegment out = CallState.current().scratch();
        return answer(calls.call(CudaFunction.CTX_GET_ID, context, out.address()), out, id);
    }

    @Override
    public int ctxEnablePeerAccess(long peer) {
        return calls.call(CudaFunction.CTX_ENABLE_PEER_ACCESS, peer, 0);
    }

    @Override
    public int memGetInfo(long[] freeAndTotal) {
        MemorySegment out = CallState.current().scratch();
        int result = calls.call(CudaFunction.MEM_GET_INFO, out.address(), out.address() + SECOND);
        return answerTwo(result, out, freeAndTotal);
    }

    @Override
    public int memAlloc(long[] pointer, long bytes) {
        MemorySegment out = CallState.current().scratch();
        return answer(calls.call(CudaFunction.MEM_ALLOC, out.address(), bytes), out, pointer);
    }

    @Override
    public int memFree(long pointer) {
        return calls.call(CudaFunction.MEM_FREE, pointer);
    }

    @Override
    public int memAllocManaged(long[] pointer, long bytes, int flags) {
        MemorySegment out = CallState.current().scratch();
        return answer(calls.call(CudaFunction.MEM_ALLOC_MANAGED, out.address(), bytes, flags), out, pointer);
    }

    @Override
    public int memAllocAsync(long[] pointer, long bytes, long stream) {
        if (!has(CudaFunction.MEM_ALLOC_ASYNC)) {
            return ERROR_NOT_FOUND;
        }
        MemorySegment out = CallState.current().scratch();
        return answer(calls.call(CudaFunction.MEM_ALLOC_ASYNC, out.address(), bytes, stream), out, pointer);
    }

    @Override
    public int memFreeAsync(long pointer, long stream) {
        if (!has(CudaFunction.MEM_FREE_ASYNC)) {
            return ERROR_NOT_FOUND;
        }
        return calls.call(CudaFunction.MEM_FREE_ASYNC, pointer, stream);
    }

    @Override
    public int memHostAlloc(long[] pointer, long bytes, int flags) {
        MemorySegment out = CallState.current().scratch();
        return answer(calls.call(CudaFunction.MEM_HOST_ALLOC, out.address(), bytes, flags), out, pointer);
    }

    @Override
    public int memFreeHost(long pointer) {
        return calls.call(CudaFunction.MEM_FREE_HOST, pointer);
    }

    @Override
    public int memHostRegister(long pointer, long bytes, int flags) {
        return calls.call(CudaFunction.MEM_HOST_REGISTER, pointer, bytes, flags);
    }

    @Override
    public int memHostUnregister(long pointer) {
        return calls.call(CudaFunction.MEM_HOST_UNREGISTER, pointer);
    }

    @Override
    public int memGetAddressRange(long[] baseAndSize, long pointer) {
        MemorySegment out = CallState.current().scratch();
        int result = calls.call(CudaFunction.MEM_GET_ADDRESS_RANGE, out.address(), out.address() + SECOND, pointer);
        return answerTwo(result, out, baseAndSize);
    }

    @Override
    public int pointerGetAttribute(long[] value, int attribute, long pointer) {
        MemorySegment out = CallState.current().scratch();
        out.set(JAVA_LONG, 0, 0); // the driver writes 4 bytes or 8
        return answer(calls.call(CudaFunction.POINTER_GET_ATTRIBUTE, out.address(), attribute, pointer), out, value);
    }

    @Override
    public int pointerGetAttributes(long[] values, int[] attributes, long pointer) {
        MemorySegment scratch = CallState.current().scratch();
        MemorySegment numbers = scratch.asSlice(0, MAX_ATTRIBUTES * JAVA_INT.byteSize());
        MemorySegment places = scratch.asSlice(numbers.byteSize(), MAX_ATTRIBUTES * JAVA_LONG.byteSize());
        MemorySegment found = scratch.asSlice(numbers.byteSize() + places.byteSize(), places.byteSize());
        for (int i = 0; i < attributes.length; i++) {
            numbers.setAtIndex(JAVA_INT, i, attributes[i]);
            places.setAtIndex(JAVA_LONG, i, found.address() + i * JAVA_LONG.byteSize());
            found.setAtIndex(JAVA_LONG, i, 0); // the driver writes 4 bytes or 8
        }
        int result = calls.call(CudaFunction.POINTER_GET_ATTRIBUTES, attributes.length, numbers.address(),
                places.address(), pointer);
        for (int i = 0; i < attributes.length && result == SUCCESS; i++) {
            values[i] = found.getAtIndex(JAVA_LONG, i);
        }
        return result;
    }

    @Override
    public int pointerSetAttribute(int value, int attribute, long pointer) {
        MemorySegment in = CallState.current().scratch();
        in.set(JAVA_INT, 0, value);
        return calls.call(CudaFunction.POINTER_SET_ATTRIBUTE, in.address(), attribute, pointer);
    }

    @Override
    public int memPrefetchAsync(long pointer, long bytes, int device, long stream) {
        if (!has(CudaFunction.MEM_PREFETCH_ASYNC)) {
            return ERROR_NOT_FOUND;
        }
        return calls.call(CudaFunction.MEM_PREFETCH_ASYNC, pointer, bytes, MemLocation.packed(device), 0, stream);
    }

    @Override
    public int memGetDmaBuf(int[] fd, long pointer, long bytes) {
        if (!has(CudaFunction.MEM_GET_HANDLE_FOR_ADDRESS_RANGE)) {
            return ERROR_NOT_FOUND;
        }
        MemorySegment out = CallState.current().scratch();
        int result = calls.call(
                CudaFunction.MEM_GET_HANDLE_FOR_ADDRESS_RANGE, out.address(), pointer, bytes, RANGE_HANDLE_DMA_BUF, 0L);
        return answer(result, out, fd);
    }

    @Override
    public int flushGpuDirectRdmaWrites(int scope) {
        return calls.call(CudaFunction.FLUSH_GPU_DIRECT_RDMA_WRITES, FLUSH_CURRENT_CONTEXT, scope);
    }

    @Override
    public int memcpyHtoDAsync(long device, long host, long bytes, long stream) {
        return calls.call(CudaFunction.MEMCPY_HTOD_ASYNC, device, host, bytes, stream);
    }

    @Override
    public int memcpyRowsHtoDAsync(long device, long host, long width, long rows, long stream) {
        return memcpy2DHtoDAsync(device, width, host, width, width, rows, stream);
    }

    @Override
    public int memcpy2DHtoDAsync(
            long device, long devicePitch, long host, long hostPitch, long width, long rows, long stream) {
        MemorySegment copy = CallState.current().scratch();
        Memcpy2D.writeRowsToDevice(copy, device, devicePitch, host, hostPitch, width, rows);
        return calls.call(CudaFunction.MEMCPY_2D_ASYNC, copy.address(), stream);
    }

    @Override
    public int memcpy2DDtoHAsync(
            long host, long hostPitch, long device, long devicePitch, long width, long rows, long stream) {
        MemorySegment copy = CallState.current().scratch();
        Memcpy2D.writeRowsToHost(copy, host, hostPitch, device, devicePitch, width, rows);
        return calls.call(CudaFunction.MEMCPY_2D_ASYNC, copy.address(), stream);
    }

    @Override
    public int memcpy2DDtoDAsync(
            long to, long toPitch, long from, long fromPitch, long width, long rows, long stream) {
        MemorySegment copy = CallState.current().scratch();
        Memcpy2D.writeRowsWithinDevice(copy, to, toPitch, from, fromPitch, width, rows);
        return calls.call(CudaFunction.MEMCPY_2D_ASYNC, copy.address(), stream);
    }

    @Override
    public int memcpyDtoHAsync(long host, long device, long bytes, long stream) {
        return calls.call(CudaFunction.MEMCPY_DTOH_ASYNC, host, device, bytes, stream);
    }

    @Override
    public int memcpyDtoDAsync(long to, long from, long bytes, long stream) {
        return calls.call(CudaFunction.MEMCPY_DTOD_ASYNC, to, from, bytes, stream);
    }

    @Override
    public int memcpyAsync(long to, long from, long bytes, long stream) {
        return calls.call(CudaFunction.MEMCPY_ASYNC, to, from, bytes, stream);
    }

    @Override
    public int memcpyPeerAsync(long to, long toContext, long from, long fromContext, long bytes, long stream) {
        return calls.call(CudaFunction.MEMCPY_PEER_ASYNC, to, toContext, from, fromContext, bytes, stream);
    }

    @Override
    public int memcpyRowsPeerAsync(
            long to, long toContext, long toPitch, long from, long fromContext, long fromPitch, long width, long rows,
            long stream) {
        MemorySegment copy = CallState.current().scratch();
        Memcpy3DPeer.write(copy, to, toContext, toPitch, from, fromContext, fromPitch, width, rows);
        return calls.call(CudaFunction.MEMCPY_3D_PEER_ASYNC, copy.address(), stream);
    }

    @Override
    public int memsetD8Async(long pointer, byte value, long bytes, long stream) {
        return calls.call(CudaFunction.MEMSET_D8_ASYNC, pointer, value & 0xFF, bytes, stream);
    }

    @Override
    public int streamCreate(long[] stream, int flags) {
        MemorySegment out = CallState.current().scratch();
        return answer(calls.call(CudaFunction.STREAM_CREATE, out.address(), flags), out, stream);
    }

    @Override
    public int streamCreateWithPriority(long[] stream, int flags, int priority) {
        MemorySegment out = CallState.current().scratch();
        return answer(calls.call(CudaFunction.STREAM_CREATE_WITH_PRIORITY, out.address(), flags, priority), out,
                stream);
    }

    @Override
    public int streamDestroy(long stream) {
        return calls.call(CudaFunction.STREAM_DESTROY, stream);
    }

    @Override
    public int streamSynchronize(long stream) {
        return calls.call(CudaFunction.STREAM_SYNCHRONIZE, stream);
    }

    @Override
    public int streamQuery(long stream) {
        return calls.call(CudaFunction.STREAM_QUERY, stream);
    }

    @Override
    public int streamWaitEvent(long stream, long event, int flags) {
        return calls.call(CudaFunction.STREAM_WAIT_EVENT, stream, event, flags);
    }

    @Override
    public int streamWaitValue32(long stream, long address, int value, int flags) {
        if (!has(CudaFunction.STREAM_WAIT_VALUE32)) {
            return ERROR_NOT_FOUND;
        }
        return calls.call(CudaFunction.STREAM_WAIT_VALUE32, stream, address, value, flags);
    }

    @Override
    public int streamWriteValue32(long stream, long address, int value) {
        if (!has(CudaFunction.STREAM_WRITE_VALUE32)) {
            return ERROR_NOT_FOUND;
        }
        return calls.call(CudaFunction.STREAM_WRITE_VALUE32, stream, address, value, 0);
    }

    @Override
    public int streamIsCapturing(long stream, int[] status) {
        MemorySegment out = CallState.current().scratch();
        return answer(calls.call(CudaFunction.STREAM_IS_CAPTURING, stream, out.address()), out, status);
    }

    @Override
    public int threadExchangeStreamCaptureMode(long[] mode) {
        MemorySegment out = CallState.current().scratch();
        out.set(JAVA_INT, 0, (int) mode[0]);
        int result = calls.call(CudaFunction.THREAD_EXCHANGE_STREAM_CAPTURE_MODE, out.address());
        if (result == SUCCESS) {
            mode[0] = out.get(JAVA_INT, 0);
        }
        return result;
    }

    @Override
    public int streamGetCtx(long stream, long[] context) {
        MemorySegment out = CallState.current().scratch();
        return answer(calls.call(CudaFunction.STREAM_GET_CTX, stream, out.address()), out, context);
    }

    @Override
    public int eventCreate(long[] event, int flags) {
        MemorySegment out = CallState.current().scratch();
        return answer(calls.call(CudaFunction.EVENT_CREATE, out.address(), flags), out, event);
    }

    @Override
    public int eventDestroy(long event) {
        return calls.call(CudaFunction.EVENT_DESTROY, event);
    }

    @Override
    public int eventRecord(long event, long stream) {
        return calls.call(CudaFunction.EVENT_RECORD, event, stream);
    }

    @Override
    public int eventSynchronize(long event) {
        return calls.call(CudaFunction.EVENT_SYNCHRONIZE, event);
    }

    @Override
    public int eventQuery(long event) {
        return calls.call(CudaFunction.EVENT_QUERY, event);
    }

    @Override
    public int moduleLoad(long[] module, String ptx) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment image = arena.allocateFrom(ptx, StandardCharsets.US_ASCII);
            MemorySegment out = CallState.current().scratch();
            return answer(calls.call(CudaFunction.MODULE_LOAD_DATA, out.address(), image.address()), out, module);
        }
    }

    @Override
    public int moduleUnload(long module) {
        return calls.call(CudaFunction.MODULE_UNLOAD, module);
    }

    @Override
    public int moduleGetFunction(long[] function, long module, String name) {
        MemorySegment out = CallState.current().scratch();
        MemorySegment symbol = out.asSlice(SECOND);
        symbol.setString(0, name, StandardCharsets.US_ASCII);
        return answer(calls.call(CudaFunction.MODULE_GET_FUNCTION, out.address(), module, symbol.address()), out,
                function);
    }

    @Override
    public int launchKernel(
            long function, int blocks, int threadsPerBlock, long first, long second, long third, long stream) {
        MemorySegment parameters = parameters(first, second, third);
        return calls.launch(CudaFunction.LAUNCH_KERNEL, function, blocks, threadsPerBlock, stream,
                parameters.address());
    }

    @Override
    public int launchKernelEarly(
            long function, int blocks, int threadsPerBlock, long first, long second, long stream) {
        if (!has(CudaFunction.LAUNCH_KERNEL_EX)) {
            return ERROR_NOT_FOUND;
        }
        MemorySegment parameters = parameters(first, second, 0);
        MemorySegment config = parameters.asSlice(PARAMETER_BYTES);
        LaunchConfig.writeEarly(config, blocks, threadsPerBlock, stream);
        return calls.call(CudaFunction.LAUNCH_KERNEL_EX, config.address(), function, parameters.address(), 0L);
    }

    /** Returns a kernel's parameters: the addresses of three values, and behind them the values. */
    private static MemorySegment parameters(long first, long second, long third) {
        MemorySegment parameters = CallState.current().scratch();
        parameters.set(JAVA_LONG, 0, parameters.address() + 3 * SECOND);
        parameters.set(JAVA_LONG, SECOND, parameters.address() + 4 * SECOND);
        parameters.set(JAVA_LONG, 2 * SECOND, parameters.address() + 5 * SECOND);
        parameters.set(JAVA_LONG, 3 * SECOND, first);
        parameters.set(JAVA_LONG, 4 * SECOND, second);
        parameters.set(JAVA_LONG, 5 * SECOND, third);
        return parameters;
    }

    @Override
    public int memAddressReserve(long[] pointer, long bytes, long alignment) {
        MemorySegment out = CallState.current().scratch();
        int result = calls.call(CudaFunction.MEM_ADDRESS_RESERVE, out.address(), bytes, alignment, 0L, 0L);
        return answer(result, out, pointer);
    }

    @Override
    public int memAddressFree(long pointer, long bytes) {
        return calls.call(CudaFunction.MEM_ADDRESS_FREE, pointer, bytes);
    }

    @Override
    public int memCreate(long[] handle, long bytes, int device, boolean rdma) {
        MemorySegment out = CallState.current().scratch();
        MemorySegment properties = out.asSlice(SECOND);
        MemAllocationProp.write(properties, device, rdma);
        return answer(calls.call(CudaFunction.MEM_CREATE, out.address(), bytes, properties.address(), 0L), out, handle);
    }

    @Override
    public int memRelease(long handle) {
        return calls.call(CudaFunction.MEM_RELEASE, handle);
    }

    @Override
    public int memMap(long pointer, long bytes, long offset, long handle) {
        return calls.call(CudaFunction.MEM_MAP, pointer, bytes, offset, handle, 0L);
    }

    @Override
    public int memUnmap(long pointer, long bytes) {
        return calls.call(CudaFunction.MEM_UNMAP, pointer, bytes);
    }

    @Override
    public int memSetAccess(long pointer, long bytes, int device) {
        MemorySegment access = CallState.current().scratch();
        MemAccessDesc.write(access, device);
        return calls.call(CudaFunction.MEM_SET_ACCESS, pointer, bytes, access.address(), 1L);
    }

    @Override
    public int memGetAllocationGranularity(long[] bytes, int device) {
        MemorySegment out = CallState.current().scratch();
        MemorySegment properties = out.asSlice(SECOND);
        MemAllocationProp.write(properties, device, false);
        int result =
                calls.call(CudaFunction.MEM_GET_ALLOCATION_GRANULARITY, out.address(), properties.address(),
                        GRANULARITY_RECOMMENDED);
        return answer(result, out, bytes);
    }

    @Override
    public String errorName(int result) {
        String name = text(CudaFunction.GET_ERROR_NAME, result);
        return name.isEmpty() ? "CUDA error " + result : name;
    }

    @Override
    public String errorText(int result) {
        return text(CudaFunction.GET_ERROR_STRING, result);
    }

    private String text(CudaFunction function, int result) {
        MemorySegment out = CallState.current().scratch();
        if (!has(function) || calls.call(function, result, out.address()) != SUCCESS) {
            return "";
        }
        return CString.at(out.get(JAVA_LONG, 0), MAX_MESSAGE);
    }

    private static int answer(int result, MemorySegment out, int[] into) {
        if (result == SUCCESS) {
            into[0] = out.get(JAVA_INT, 0);
        }
        return result;
    }

    private static int answer(int result, MemorySegment out, long[] into) {
        if (result == SUCCESS) {
            into[0] = out.get(JAVA_LONG, 0);
        }
        return result;
    }

    private static int answer(int result, MemorySegment out, String[] into) {
        if (result == SUCCESS) {
            into[0] = CString.at(out.address(), TEXT_BYTES);
        }
        return result;
    }

    private static int answerTwo(int result, MemorySegment out, long[] into) {
        if (result == SUCCESS) {
            into[0] = out.get(JAVA_LONG, 0);
            into[1] = out.get(JAVA_LONG, SECOND);
        }
        return result;
    }
}
