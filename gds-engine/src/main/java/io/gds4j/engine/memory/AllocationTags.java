package io.gds4j.engine.memory;

import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAttributes;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaPointer;
import io.gds4j.ffi.cuda.CudaPointers;
import io.gds4j.memory.AllocationTag;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.util.Optional;

/**
 * Tells an allocation of the program's from a later one at the same address, by the driver's number of the allocation. The number
 * changes with each allocation of {@code cuMemAlloc} and of pools (driver 580). Mapped memory has a number for each of its mappings,
 * so that one mapping proves nothing about the others.
 */
final class AllocationTags {
    private final CudaContexts contexts;
    private final Cuda cuda;
    private final CudaPointers pointers;
    private final ThreadLocal<long[]> answers = ThreadLocal.withInitial(() -> new long[1]);

    AllocationTags(CudaContexts contexts) {
        this.contexts = contexts;
        this.cuda = contexts.cuda();
        this.pointers = new CudaPointers(cuda);
    }

    /** Returns the tag of the whole allocation around an address, if its kind of memory has a reliable number. */
    Optional<AllocationTag> of(MemoryRange range) {
        if (range.kind() != MemoryKind.CUDA_DEVICE && range.kind() != MemoryKind.CUDA_POOL) {
            return Optional.empty();
        }
        CudaPointer found = pointers.classify(range.address());
        boolean mapped = found.pool() == 0 && found.context() == 0;
        if (found.type() != CudaPointer.Type.DEVICE || mapped || found.bufferId() == 0) {
            return Optional.empty();
        }
        long[] baseAndSize = new long[2];
        long context = found.context() != 0 ? found.context() : contexts.primary(found.device());
        int result = contexts.in(
                context, () -> cuda.memGetAddressRange(baseAndSize, range.address()));
        return result == Cuda.SUCCESS
                ? Optional.of(new AllocationTag(baseAndSize[0], baseAndSize[1], found.bufferId()))
                : Optional.empty();
    }

    /** Makes one driver call; allocates nothing. */
    boolean isCurrent(AllocationTag tag) {
        long[] id = answers.get();
        return cuda.pointerGetAttribute(id, CudaAttributes.POINTER_BUFFER_ID, tag.base()) == Cuda.SUCCESS
                && id[0] == tag.id();
    }
}
