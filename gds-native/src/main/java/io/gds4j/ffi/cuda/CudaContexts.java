package io.gds4j.ffi.cuda;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.CallState;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.function.IntSupplier;

/**
 * Which CUDA context serves which memory: the one that allocated it, and a GPU's primary context only where the driver names
 * none, as for stream-ordered and mapped memory. A primary context is retained when it is first needed and kept to the end of
 * the process; its flags are never touched.
 *
 * <p>
 * Thread-safe. Nothing here allocates in the steady state.
 */
public final class CudaContexts {
    private final Cuda cuda;
    private final ConcurrentMap<Integer, Long> primaries = new ConcurrentHashMap<>();
    private final ConcurrentMap<Integer, Boolean> sharesManaged = new ConcurrentHashMap<>();

    /** Over an initialised driver. */
    public CudaContexts(Cuda cuda) {
        this.cuda = cuda;
    }

    /** The driver. */
    public Cuda cuda() {
        return cuda;
    }

    /**
     * The context that GPU memory belongs to.
     *
     * @param device GPU whose primary context serves where the driver names none
     * @throws CuFileException CUDA_POINTER_INVALID if the driver does not know the address
     */
    public long contextOf(long pointer, int device) {
        long[] context = CallState.current().answer();
        int result = cuda.pointerGetAttribute(context, CudaAttributes.POINTER_CONTEXT, pointer);
        if (result == Cuda.ERROR_INVALID_VALUE) {
            throw CuFileException.of(
                    CuFileError.CUDA_POINTER_INVALID,
                    "cuPointerGetAttribute",
                    "the CUDA driver does not know the address 0x%x".formatted(pointer));
        }
        CudaErrors.check(cuda, "cuPointerGetAttribute", result);
        return context[0] != 0 ? context[0] : primary(device);
    }

    /**
     * The primary context of a GPU.
     *
     * @param ordinal 0 for the first GPU
     * @throws CuFileException DEVICE_NOT_FOUND if there is no such GPU
     */
    public long primary(int ordinal) {
        Long known = primaries.get(ordinal);
        return known != null ? known : primaries.computeIfAbsent(ordinal, this::retain);
    }

    private long retain(int ordinal) {
        int[] device = new int[1];
        int found = cuda.deviceGet(device, ordinal);
        if (found == Cuda.ERROR_INVALID_DEVICE) {
            throw CuFileException.of(CuFileError.DEVICE_NOT_FOUND, "cuDeviceGet", "there is no GPU " + ordinal);
        }
        CudaErrors.check(cuda, "cuDeviceGet", found);
        long[] context = new long[1];
        CudaErrors.check(cuda, "cuDevicePrimaryCtxRetain", cuda.devicePrimaryCtxRetain(context, device[0]));
        return context[0];
    }

    /**
     * True for a primary context that was retained here, hence lives as long as the process. Any other may be gone, and a
     * driver does not always notice: it has been seen to crash on the handle of a destroyed context. So what we made in a
     * context of the program's own is left to go with it.
     */
    public boolean isRetained(long context) {
        return primaries.containsValue(context);
    }

    /** True if processors may touch managed memory of a GPU at any time, also while the GPU works. */
    public boolean sharesManagedMemory(int ordinal) {
        Boolean known = sharesManaged.get(ordinal);
        return known != null ? known : sharesManaged.computeIfAbsent(ordinal, this::asksManagedMemory);
    }

    private boolean asksManagedMemory(int ordinal) {
        int[] device = new int[1];
        int[] value = new int[1];
        return cuda.deviceGet(device, ordinal) == Cuda.SUCCESS
                && cuda.deviceGetAttribute(
                        value, CudaAttributes.DEVICE_CONCURRENT_MANAGED_ACCESS, device[0]) == Cuda.SUCCESS
                && value[0] == 1;
    }

    /** What tells a context from a later one at the same address; a driver before CUDA 12.0 has only the address. */
    public long idOf(long context) {
        if (!cuda.has(CudaFunction.CTX_GET_ID)) {
            return context;
        }
        long[] id = CallState.current().answer();
        CudaErrors.check(cuda, "cuCtxGetId", cuda.ctxGetId(context, id));
        return id[0];
    }

    /**
     * Makes a context current; {@link #leave} restores what was current before. Nothing may wait for another thread's work
     * in between, and a virtual thread must not unmount: it is the carrier's context.
     *
     * @return the driver's answer: unless it is {@link Cuda#SUCCESS} there is nothing to leave
     */
    public int enter(long context) {
        return cuda.ctxPushCurrent(context);
    }

    /** Ends what {@link #enter} began, on the same thread. */
    public void leave() {
        cuda.ctxPopCurrent(CallState.current().answer());
    }

    /**
     * Makes a driver call with a context current and restores what was current before.
     *
     * @return the call's result, or that of making the context current
     */
    public int in(long context, IntSupplier call) {
        int entered = enter(context);
        if (entered != Cuda.SUCCESS) {
            return entered;
        }
        try {
            return call.getAsInt();
        } finally {
            leave();
        }
    }
}
