package io.gds4j.engine.memory;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAttributes;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
import io.gds4j.ffi.cuda.CudaFunction;
import io.gds4j.ffi.cuda.CudaPointers;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.ffi.posix.PosixErrors;
import io.gds4j.memory.DmaBuf;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;

/** Exports GPU memory to other devices as dma-bufs. */
final class DmaBufExports {
    private static final String EXPORT = "cuMemGetHandleForAddressRange";

    private final Posix posix;
    private final CudaContexts contexts;
    private final Cuda cuda;
    private final CudaPointers pointers;

    DmaBufExports(Posix posix, CudaContexts contexts) {
        this.posix = posix;
        this.contexts = contexts;
        this.cuda = contexts.cuda();
        this.pointers = new CudaPointers(cuda);
    }

    /** Exports the host pages around a range. Refuses memory that cannot be exported before it asks the driver. */
    DmaBuf export(MemoryRange range) {
        checkKind(range);
        if (range.length() == 0) {
            throw refusal(CuFileError.INVALID_VALUE, "the range is empty");
        }
        checkSupport(range.device());
        long context = contexts.contextOf(range.address(), range.device());
        long page = posix.pageSize();
        long start = range.address() & -page;
        long size = (range.address() + range.length() - start + page - 1) & -page;
        boolean isMapped = range.kind() == MemoryKind.CUDA_VMM || pointers.isMapped(range.address());
        if (isMapped) {
            checkMappings(range);
        } else {
            checkPages(range, context, start);
        }
        int[] fd = new int[1];
        int result = contexts.in(context, () -> {
            int synced = pointers.synchronise(range.address(), range.length());
            return synced != Cuda.SUCCESS && synced != Cuda.ERROR_NOT_SUPPORTED
                    ? synced
                    : cuda.memGetDmaBuf(fd, start, size);
        });
        if (result == Cuda.ERROR_NOT_SUPPORTED) {
            throw refusal(CuFileError.IO_NOT_SUPPORTED, "the driver exports no dma-buf of " + range);
        }
        long first = isMapped ? pointers.knownUpTo(range.address(), 1) - range.address() : range.length();
        if (result == Cuda.ERROR_INVALID_VALUE && first < range.length()) {
            throw refusal(CuFileError.IO_NOT_SUPPORTED,
                    "this driver exports single mappings: export the first %s bytes of %s alone".formatted(first,
                            range));
        }
        if (result != Cuda.SUCCESS) {
            throw CudaErrors.failure(cuda, EXPORT, result).range(-1, size).build();
        }
        return checked(fd[0], range.address() - start, range, size);
    }

    private static void checkKind(MemoryRange range) {
        switch (range.kind()) {
            case CUDA_DEVICE, CUDA_VMM -> {
                // these can be exported
            }
            case CUDA_MANAGED -> throw refusal(
                    CuFileError.CUDA_MEMORY_TYPE_INVALID, "managed memory migrates: no device can hold on to it");
            case CUDA_POOL -> throw refusal(
                    CuFileError.CUDA_MEMORY_TYPE_INVALID, "memory of a pool cannot be exported: allocate CUDA_DEVICE");
            case HOST, HOST_HUGEPAGE, HOST_PINNED, HOST_REGISTERED -> throw refusal(
                    CuFileError.CUDA_MEMORY_TYPE_INVALID, "host memory is no GPU's: register its address");
        }
    }

    private void checkSupport(int device) {
        if (!cuda.has(CudaFunction.MEM_GET_HANDLE_FOR_ADDRESS_RANGE)) {
            throw refusal(
                    CuFileError.IO_NOT_SUPPORTED,
                    "the driver is older than CUDA " + CudaFunction.MEM_GET_HANDLE_FOR_ADDRESS_RANGE.since());
        }
        int[] value = new int[1];
        boolean known = cuda.deviceGet(value, device) == Cuda.SUCCESS
                && cuda.deviceGetAttribute(value, CudaAttributes.DEVICE_DMA_BUF, value[0]) == Cuda.SUCCESS;
        if (!known || value[0] == 0) {
            throw refusal(
                    CuFileError.IO_NOT_SUPPORTED,
                    "GPU %s exports no dma-buf: that takes the open kernel modules, and Linux 5.12 or newer"
                            .formatted(device));
        }
    }

    /** Refuses a range with a part that is not mapped. Mappings begin at pages; one dma-buf holds several of them. */
    private void checkMappings(MemoryRange range) {
        long known = pointers.knownUpTo(range.address(), range.length()) - range.address();
        if (known < range.length()) {
            throw refusal(CuFileError.CUDA_POINTER_RANGE_ERROR,
                    "nothing is mapped at 0x%x, within %s".formatted(range.address() + known, range));
        }
    }

    /** Refuses an allocation that shares a page with its neighbour: the export would hand out both. */
    private void checkPages(MemoryRange range, long context, long start) {
        long[] baseAndSize = new long[2];
        int result = contexts.in(context, () -> cuda.memGetAddressRange(baseAndSize, range.address()));
        if (result != Cuda.SUCCESS) {
            return;
        }
        if (start < baseAndSize[0]) {
            throw refusal(
                    CuFileError.CUDA_POINTER_RANGE_ERROR,
                    "the allocation begins at 0x%x, inside a page of the host: align it".formatted(baseAndSize[0]));
        }
        if (range.length() > baseAndSize[1] - (range.address() - baseAndSize[0])) {
            throw refusal(
                    CuFileError.CUDA_POINTER_RANGE_ERROR,
                    "%s reaches past its allocation of %s bytes".formatted(range, baseAndSize[1]));
        }
    }

    private DmaBuf checked(int fd, long offset, MemoryRange range, long size) {
        long found = posix.lseek(fd, 0, PosixConstants.SEEK_END);
        boolean exported = false;
        try {
            if (found < 0) {
                throw PosixErrors.failure(EXPORT, "lseek", (int) found).build();
            }
            if (found < offset + range.length()) {
                throw refusal(
                        CuFileError.INTERNAL_ERROR,
                        "the dma-buf has %s bytes where %s were exported".formatted(found, size));
            }
            Posix closing = posix;
            DmaBuf buffer = new DmaBuf(fd, offset, range, found, closing::close);
            exported = true;
            return buffer;
        } finally {
            if (!exported) {
                posix.close(fd);
            }
        }
    }

    private static CuFileException refusal(CuFileError error, String detail) {
        return CuFileException.of(error, EXPORT, detail);
    }
}
