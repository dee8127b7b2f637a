package io.gds4j.ffi.cuda;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.CallState;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.function.IntSupplier;

/**
 * Finds the CUDA context of memory: the context that allocated it, or the GPU's primary context if the driver names none, as for
 * stream-ordered and mapped memory. A primary context is retained at its first use and kept until the process ends. Its flags are
 * never changed.
 *
 * <p>
 * Thread-safe. Allocates nothing in the steady state.
 */
public final class CudaContexts {
    private static final long MARK_BYTES = 4096;

    private final Cuda cuda;
    private final ConcurrentMap<Integer, Long> primaries = new ConcurrentHashMap<>();
    private final ConcurrentMap<Integer, Boolean> sharesManaged = new ConcurrentHashMap<>();

    /** Uses an initialised driver. */
    public CudaContexts(Cuda cuda) {
        this.cuda = cuda;
    }

    /** Returns the driver. */
    public Cuda cuda() {
        return cuda;
    }

    /**
     * Returns the context of GPU memory.
     *
     * @param device GPU whose primary context is the answer if the driver names no context
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
     * Returns the primary context of a GPU.
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
        CallState state = CallState.current();
        relax(state);
        try {
            CudaErrors.check(cuda, "cuDevicePrimaryCtxRetain", cuda.devicePrimaryCtxRetain(context, device[0]));
        } finally {
            restore(state);
        }
        return context[0];
    }

    /**
     * Returns true for a primary context that was retained here and hence lives as long as the process. Any other context may be
     * destroyed, and the driver does not always notice: it was seen to crash on the handle of a destroyed context. So objects in such a
     * context are freed only if memory tells that it {@link #isAlive}; else they end with the context.
     */
    public boolean isRetained(long context) {
        return primaries.containsValue(context);
    }

    /**
     * Returns whether a context is alive, whoever made it. A call with the handle of a destroyed context might crash, so this asks for the
     * context of memory that was allocated in it: the memory ends with the context. The program must not destroy the context meanwhile.
     *
     * @param id of the context when the memory was allocated
     * @param memory allocated in the context and not freed; 0 if there is none, and then only a retained context is known to live
     */
    public boolean isAlive(long context, long id, long memory) {
        if (memory == 0 || isRetained(context)) {
            return isRetained(context);
        }
        long[] answer = CallState.current().answer();
        // A later context may have the same handle, and memory at the same address.
        return has(context, memory)
                && cuda.has(CudaFunction.CTX_GET_ID)
                && cuda.ctxGetId(context, answer) == Cuda.SUCCESS
                && answer[0] == id;
    }

    /**
     * Returns whether a context has memory that was allocated in it and not freed. If not, the program has destroyed the context. Unlike
     * {@link #isAlive}, this may be asked at any time.
     */
    public boolean has(long context, long memory) {
        long[] answer = CallState.current().answer();
        return cuda.pointerGetAttribute(answer, CudaAttributes.POINTER_CONTEXT, memory) == Cuda.SUCCESS
                && answer[0] == context;
    }

    /**
     * Allocates memory that tells whether a context {@link #isAlive}; its owner frees it ({@link #unmark}). Both are calls that may synchronise. The
     * context is current.
     *
     * @return 0 for a retained context, which needs none, and if the driver refuses
     */
    public long mark(long context) {
        long[] memory = new long[1];
        return isRetained(context) || cuda.memHostAlloc(memory, MARK_BYTES, 0) != Cuda.SUCCESS ? 0 : memory[0];
    }

    /** Frees what {@link #mark} allocated. The context is current. */
    public void unmark(long memory) {
        if (memory != 0) {
            cuda.memFreeHost(memory);
        }
    }

    /** Returns the GPU of a primary context that was retained here; -1 for another context. */
    public int ordinalOf(long context) {
        for (Map.Entry<Integer, Long> primary : primaries.entrySet()) {
            if (primary.getValue() == context) {
                return primary.getKey();
            }
        }
        return -1;
    }

    /** Returns true if processors may touch managed memory of a GPU while the GPU works. */
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

    /** Returns the id that tells a context from a later one at the same address; before CUDA 12.0 it is the address. */
    public long idOf(long context) {
        if (!cuda.has(CudaFunction.CTX_GET_ID)) {
            return context;
        }
        long[] id = CallState.current().answer();
        CudaErrors.check(cuda, "cuCtxGetId", cuda.ctxGetId(context, id));
        return id[0];
    }

    /**
     * Makes a context current; {@link #leave} restores the previous one. The thread must not wait for another thread's work in between,
     * and a virtual thread must not unmount: the context belongs to the carrier.
     *
     * <p>
     * Until then the thread's calls do not affect graphs that the program captures, on this thread or another. In the mode that captures
     * have by default, a call that allocates or asks an event would fail and end the capture.
     *
     * @return a {@code CUresult}; {@link #leave} must follow only {@link Cuda#SUCCESS}
     */
    public int enter(long context) {
        // A thread's first driver call makes this state, and may wait for a lock of the JDK: a virtual thread unmounts then.
        CallState state = CallState.current();
        int result = cuda.ctxPushCurrent(context);
        if (result == Cuda.SUCCESS) {
            relax(state);
        }
        return result;
    }

    private void relax(CallState state) {
        long[] mode = state.answer();
        mode[0] = Cuda.STREAM_CAPTURE_MODE_RELAXED;
        int result = cuda.threadExchangeStreamCaptureMode(mode);
        state.pushMode(result == Cuda.SUCCESS ? (int) mode[0] : Cuda.STREAM_CAPTURE_MODE_RELAXED);
    }

    private void restore(CallState state) {
        int mode = state.popMode();
        if (mode != Cuda.STREAM_CAPTURE_MODE_RELAXED) {
            long[] answer = state.answer();
            answer[0] = mode;
            cuda.threadExchangeStreamCaptureMode(answer);
        }
    }

    /** Ends what {@link #enter} began, on the same thread. */
    public void leave() {
        CallState state = CallState.current();
        restore(state);
        cuda.ctxPopCurrent(state.answer());
    }

    /**
     * Makes a driver call in a context and restores the previous context.
     *
     * @return the call's result, or the failure to make the context current
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
