package io.gds4j.libcufile.process;

import io.gds4j.ffi.CallState;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaErrors;
import java.util.function.Supplier;

/**
 * Makes a CUDA context current for a call of this thread, and restores the previous one. The thread must not park in
 * between: a virtual thread might resume on another carrier, and the context belongs to the carrier.
 */
public final class CurrentContext {
    /** No context is needed. */
    public static final long NONE = 0;

    private CurrentContext() {
    }

    /**
     * Makes a context current; allocates nothing.
     *
     * @return false if it was already current, or none is needed; then there is nothing to restore
     */
    public static boolean push(Cuda cuda, long context) {
        if (context == NONE || cuda.ctxIsCurrent(context)) {
            return false;
        }
        CudaErrors.check(cuda, "cuCtxPushCurrent", cuda.ctxPushCurrent(context));
        return true;
    }

    public static void pop(Cuda cuda) {
        cuda.ctxPopCurrent(CallState.current().answer());
    }

    /** Makes a call in a context. */
    public static <T> T with(Cuda cuda, long context, Supplier<T> call) {
        boolean pushed = push(cuda, context);
        try {
            return call.get();
        } finally {
            if (pushed) {
                pop(cuda);
            }
        }
    }
}
