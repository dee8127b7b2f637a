package io.gds4j.ffi.cufile;

import io.gds4j.ffi.CallState;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryRange;

/**
 * Which CUDA context GPU memory belongs to. Asking the driver takes a tenth of a microsecond, so each thread remembers the
 * answer for the allocations that it used last: one that is open stays where it is. Memory without an owner is asked for each
 * time, since nobody says when it is freed.
 */
final class KnownContexts {
    /** Identity of the allocation, its address, its context: numbers alone, so that nobody is kept from being collected. */
    private static final int FIELDS = 3;

    private static final int ENTRIES = CallState.NOTES / FIELDS;

    private final CudaContexts contexts;

    KnownContexts(CudaContexts contexts) {
        this.contexts = contexts;
    }

    /**
     * The context of a range of GPU memory that is in use.
     *
     * @throws io.gds4j.error.CuFileException CUDA_POINTER_INVALID if the driver does not know it
     */
    long contextOf(MemoryRange memory) {
        MemoryAllocation owner = memory.owner().orElse(null);
        if (owner == null) {
            return contexts.contextOf(memory.address(), memory.device());
        }
        long[] entries = CallState.current().notes();
        int identity = System.identityHashCode(owner);
        long address = owner.range().address();
        int at = (identity & ENTRIES - 1) * FIELDS;
        if (entries[at] != identity || entries[at + 1] != address) {
            long context = contexts.contextOf(memory.address(), memory.device());
            entries[at] = identity;
            entries[at + 1] = address;
            entries[at + 2] = context;
        }
        return entries[at + 2];
    }
}
