package io.gds4j.compat;

import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaErrors;
import io.gds4j.ffi.memory.HostMemoryViews;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/**
 * A pinned word that a CUDA stream waits for: it only ever grows, and the stream goes on once it is at least what the stream
 * waits for.
 */
final class ReleaseWord {
    private static final VarHandle WORD = ValueLayout.JAVA_INT.varHandle();

    private final Cuda cuda;
    private final long address;
    private final MemorySegment word;

    /** With a context current, while no stream waits: pinning memory may wait for all streams. */
    ReleaseWord(Cuda cuda) {
        this.cuda = cuda;
        long[] pointer = new long[1];
        int flags = Cuda.MEM_HOST_PORTABLE | Cuda.MEM_HOST_DEVICEMAP;
        CudaErrors.check(cuda, "cuMemHostAlloc", cuda.memHostAlloc(pointer, Integer.BYTES, flags));
        this.address = pointer[0];
        this.word = HostMemoryViews.ofAddress(address, Integer.BYTES);
        WORD.setRelease(word, 0L, 0);
    }

    long address() {
        return address;
    }

    void release(int value) {
        WORD.setRelease(word, 0L, value);
    }

    /** With a context current; every stream has passed. */
    void free() {
        cuda.memFreeHost(address);
    }
}
