package io.gds4j.ffi.cuda;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.function.IntSupplier;

/**
 * Which CUDA context serves which memory: the one that allocated it, and a GPU's primary context only where the driver names
 * none, as for stream-ordered and mapped memory. A primary context is retained when it is first needed and kept; its flags are
 * never touched.
 */
public final class CudaContexts {
    private static final int ATTRIBUTE_CONTEXT = 1;

    private final Cuda cuda;
    private final ConcurrentMap<Integer, Long> primaries = new ConcurrentHashMap<>();

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
        long[] context = new long[1];
        int result = cuda.pointerGetAttribute(context, ATTRIBUTE_CONTEXT, pointer);
        if (result == Cuda.ERROR_INVALID_VALUE) {
            throw CuFileException.of(
                    CuFileError.CUDA_POINTER_INVALID,
                    "cuPointerGetAttribute",
                    "the CUDA driver does not know the address 0x%x".formatted(pointer));
        }
        CudaErrors.check(cuda, "cuPointerGetAttribute", result);
        return context[0] != 0 ? context[0] : primary(device);
    }

    /** The primary context of a GPU. */
    public long primary(int device) {
        Long known = primaries.get(device);
        return known != null ? known : primaries.computeIfAbsent(device, this::retain);
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

    /** What tells a context from a later one at the same address. */
    public long idOf(long context) {
        long[] id = new long[1];
        CudaErrors.check(cuda, "cuCtxGetId", cuda.ctxGetId(context, id));
        return id[0];
    }

    /**
     * Makes a driver call with a context current and restores what was current before.
     *
     * @return the call's result, or that of making the context current
     */
    public int in(long context, IntSupplier call) {
        int pushed = cuda.ctxPushCurrent(context);
        if (pushed != Cuda.SUCCESS) {
            return pushed;
        }
        try {
            return call.getAsInt();
        } finally {
            cuda.ctxPopCurrent(new long[1]);
        }
    }
}
