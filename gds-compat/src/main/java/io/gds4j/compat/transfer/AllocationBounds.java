package io.gds4j.compat.transfer;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaPointers;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;

/**
 * Asks the CUDA driver where an allocation ends, before a range of raw addresses in it is registered. Ranges of an allocator
 * cannot reach past theirs. Of mapped memory the driver knows single mappings, across which a range may well reach, but not past
 * the last of them.
 */
public final class AllocationBounds {
    private static final String REGISTER = "cuFileBufRegister";

    private final CudaContexts contexts;

    public AllocationBounds(CudaContexts contexts) {
        this.contexts = contexts;
    }

    /**
     * @throws CuFileException CUDA_POINTER_RANGE_ERROR if the range reaches past its allocation, CUDA_POINTER_INVALID if the
     *         driver does not know the address
     */
    public void check(MemoryRange range) {
        MemoryKind kind = range.kind();
        if (kind.isHost() || range.owner().isPresent()) {
            return;
        }
        if (kind == MemoryKind.CUDA_VMM) {
            checkMappings(range);
            return;
        }
        long context = contexts.contextOf(range.address(), range.device());
        long[] baseAndSize = new long[2];
        int result = contexts.in(context, () -> contexts.cuda().memGetAddressRange(baseAndSize, range.address()));
        long before = range.address() - baseAndSize[0];
        if (result == Cuda.SUCCESS && range.length() > baseAndSize[1] - before) {
            throw CuFileException.of(
                    CuFileError.CUDA_POINTER_RANGE_ERROR,
                    REGISTER,
                    "%s reaches past its allocation of %d bytes".formatted(range, baseAndSize[1]));
        }
    }

    private void checkMappings(MemoryRange range) {
        long known = new CudaPointers(contexts.cuda()).knownUpTo(range.address(), range.length()) - range.address();
        if (known < range.length()) {
            throw CuFileException.of(
                    known == 0 ? CuFileError.CUDA_POINTER_INVALID : CuFileError.CUDA_POINTER_RANGE_ERROR,
                    REGISTER,
                    "nothing is mapped at 0x%x, within %s".formatted(range.address() + known, range));
        }
    }
}
