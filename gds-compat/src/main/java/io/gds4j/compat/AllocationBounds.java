package io.gds4j.compat;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaPointers;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.util.Optional;

/**
 * Checks a range of raw addresses against its allocation before the range is registered. Ranges of an allocator need no check. Of
 * mapped memory the CUDA driver knows single mappings: a range may cover several of them, but must not reach past the last.
 */
final class AllocationBounds {
    private static final String REGISTER = "cuFileBufRegister";

    private final Optional<CudaContexts> contexts;

    AllocationBounds(Optional<CudaContexts> contexts) {
        this.contexts = contexts;
    }

    /**
     * Checks a range.
     *
     * @throws CuFileException INVALID_VALUE for an empty range, CUDA_POINTER_RANGE_ERROR if the range reaches past its allocation,
     *         CUDA_POINTER_INVALID if the CUDA driver does not know the address or there is no CUDA driver
     */
    void check(MemoryRange range) {
        if (range.length() == 0) {
            throw CuFileException.invalid(REGISTER, "the range is empty");
        }
        if (contexts.isPresent()) {
            check(range, contexts.get());
        } else if (range.kind().isCuda()) {
            throw CuFileException.of(
                    CuFileError.CUDA_POINTER_INVALID, REGISTER, "there is no CUDA driver for " + range);
        }
    }

    private static void check(MemoryRange range, CudaContexts contexts) {
        MemoryKind kind = range.kind();
        if (kind.isHost() || range.owner().isPresent()) {
            return;
        }
        if (kind == MemoryKind.CUDA_VMM) {
            checkMappings(range, contexts.cuda());
            return;
        }
        long context = contexts.contextOf(range.address(), range.device());
        long[] baseAndSize = new long[2];
        int result = contexts.in(context, () -> contexts.cuda().memGetAddressRange(baseAndSize, range.address()));
        long before = range.address() - baseAndSize[0];
        if (result == Cuda.SUCCESS && range.length() > baseAndSize[1] - before) {
            if (new CudaPointers(contexts.cuda()).isMapped(range.address())) {
                checkMappings(range, contexts.cuda()); // such as the expandable segments of PyTorch
                return;
            }
            throw CuFileException.of(
                    CuFileError.CUDA_POINTER_RANGE_ERROR,
                    REGISTER,
                    "%s reaches past its allocation of %s bytes".formatted(range, baseAndSize[1]));
        }
    }

    private static void checkMappings(MemoryRange range, Cuda cuda) {
        long known = new CudaPointers(cuda).knownUpTo(range.address(), range.length()) - range.address();
        if (known < range.length()) {
            throw CuFileException.of(
                    known == 0 ? CuFileError.CUDA_POINTER_INVALID : CuFileError.CUDA_POINTER_RANGE_ERROR,
                    REGISTER,
                    "nothing is mapped at 0x%x, within %s".formatted(range.address() + known, range));
        }
    }
}
