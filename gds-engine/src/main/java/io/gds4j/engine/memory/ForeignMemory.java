package io.gds4j.engine.memory;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
import io.gds4j.ffi.cuda.CudaPointer;
import io.gds4j.ffi.cuda.CudaPointers;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;

/** Wraps and pins memory that the program allocated by other means. */
final class ForeignMemory {
    private static final String WRAP = "MemoryAllocator.wrap";
    private static final String PIN = "MemoryAllocator.pin";

    private final CudaAvailability availability;

    ForeignMemory(CudaAvailability availability) {
        this.availability = availability;
    }

    /** Returns a range whose kind and GPU the driver names; ordinary host memory if the driver does not know the address. */
    MemoryRange wrap(long address, long length) {
        MemoryRange host = MemoryRange.ofAddress(address, length, MemoryKind.HOST);
        if (availability.cuda().isEmpty()) {
            return host;
        }
        CudaPointer found = new CudaPointers(availability.cuda().get()).classify(address);
        if (!found.holds(length)) {
            throw CuFileException.of(
                    CuFileError.CUDA_POINTER_RANGE_ERROR,
                    WRAP,
                    "%s bytes at 0x%x reach past an allocation of %s bytes at 0x%x"
                            .formatted(length, address, found.rangeSize(), found.rangeStart()));
        }
        return switch (found.type()) {
            case UNKNOWN -> host;
            case PINNED_HOST -> MemoryRange.ofAddress(address, length, MemoryKind.HOST_PINNED);
            case MANAGED, DEVICE -> MemoryRange.ofAddress(address, length, found.kind(), Math.max(0, found.device()));
        };
    }

    /** Pins host memory for all GPUs until the allocation is closed. The program keeps the memory itself. */
    MemoryAllocation pin(MemorySegment segment) {
        MemoryRange range = MemoryRange.ofSegment(segment, MemoryKind.HOST_REGISTERED);
        if (range.length() == 0) {
            throw CuFileException.invalid(PIN, "the segment is empty");
        }
        range.checkAccess();
        CudaContexts contexts = availability.cudaContexts().orElseThrow(() -> CuFileException.of(
                CuFileError.CUDA_MEMORY_TYPE_INVALID, PIN, "there is no CUDA driver to pin memory for"));
        Cuda cuda = contexts.cuda();
        long context = contexts.primary(0);
        long address = range.address();
        StreamWaits waits = StreamWaits.of(contexts);
        int result = waits.whileNone(
                contexts, context, () -> cuda.memHostRegister(address, range.length(), Cuda.MEM_HOST_PORTABLE));
        if (result == Cuda.ERROR_HOST_MEMORY_ALREADY_REGISTERED) {
            throw CuFileException.of(
                    CuFileError.MEMORY_ALREADY_REGISTERED, PIN, "pages of the segment are pinned already");
        }
        if (result != Cuda.SUCCESS) {
            throw CudaErrors.failure(cuda, "cuMemHostRegister", result).range(-1, range.length()).build();
        }
        return MemoryAllocation.of(range, () -> {
            int freed = waits.whileNone(contexts, context, () -> cuda.memHostUnregister(address));
            CudaErrors.checkFreed(cuda, "cuMemHostUnregister", freed);
            Reference.reachabilityFence(segment); // an automatic arena lives until here
        });
    }
}
