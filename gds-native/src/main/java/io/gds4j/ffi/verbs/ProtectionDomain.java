package io.gds4j.ffi.verbs;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
import io.gds4j.ffi.cuda.CudaPointers;
import io.gds4j.internal.lifetime.Lifetime;
import io.gds4j.internal.memory.MemoryAccess;
import io.gds4j.memory.DmaBuf;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.util.Set;
import java.util.function.Supplier;

/**
 * A protection domain of an open RDMA device: regions of one domain only work with its own queue pairs. Cannot be closed while
 * it has regions. Thread-safe.
 *
 * @since 0.1
 */
public final class ProtectionDomain implements AutoCloseable {
    private final VerbsCalls calls;
    private final Supplier<CudaAvailability> cuda;
    private final long handle;
    private final Lifetime lifetime;

    private ProtectionDomain(
            VerbsCalls calls, Supplier<CudaAvailability> cuda, String device, long context, long handle) {
        this.calls = calls;
        this.cuda = cuda;
        this.handle = handle;
        this.lifetime = Lifetime.of(this, "ProtectionDomain of " + device, () -> {
            try {
                calls.deallocPd(handle);
            } finally {
                calls.closeDevice(context);
            }
        });
    }

    /** Makes a domain that closes the device. If that fails, closes the device itself. */
    static ProtectionDomain on(
            VerbsCalls calls, Supplier<CudaAvailability> cuda, String device, long context) {
        boolean made = false;
        try {
            ProtectionDomain domain =
                    new ProtectionDomain(calls, cuda, device, context, calls.allocPd(context));
            made = true;
            return domain;
        } finally {
            if (!made) {
                calls.closeDevice(context);
            }
        }
    }

    /**
     * Registers memory by its address ({@code ibv_reg_mr}): host memory, or GPU memory where the module nvidia-peermem is
     * loaded. The memory cannot be freed before the region is closed. Synchronous CUDA copies from and to GPU memory return
     * when they are complete from then on (CU_POINTER_ATTRIBUTE_SYNC_MEMOPS).
     *
     * @param memory the memory, of any alignment
     * @param rights what may be done with it
     * @return the region, to be closed before the domain
     * @throws CuFileException INVALID_VALUE for empty memory or rights that contradict each other, PERMISSION_DENIED for
     *         LOCAL_WRITE to a read-only segment, MEMORY_NOT_REGISTERED if the domain is closed, NOMEM_ERROR or
     *         GPU_MEMORY_PINNING_FAILED with the errno where verbs refused, CUDA_MEMORY_TYPE_INVALID for managed memory, which
     *         migrates, CUDA_POINTER_INVALID for GPU memory that the driver does not know
     */
    public MemoryRegion register(MemoryRange memory, Set<RdmaAccess> rights) {
        int bits = RdmaAccess.toBits(rights);
        check(memory.length());
        if (rights.contains(RdmaAccess.LOCAL_WRITE) && !memory.isWritable()) {
            throw CuFileException.of(
                    CuFileError.PERMISSION_DENIED, "ibv_reg_mr", "LOCAL_WRITE to a segment that is read-only");
        }
        if (memory.kind() == MemoryKind.CUDA_MANAGED) {
            throw CuFileException.of(
                    CuFileError.CUDA_MEMORY_TYPE_INVALID,
                    "ibv_reg_mr",
                    "managed memory migrates: no device can hold on to it");
        }
        MemoryAccess.claim(memory);
        return region(
                () -> {
                    synchronise(memory);
                    return calls.regMr(handle, memory.address(), memory.length(), bits);
                },
                "MemoryRegion of " + memory,
                () -> MemoryAccess.unclaim(memory));
    }

    /**
     * Registers GPU memory that was exported as a dma-buf ({@code ibv_reg_dmabuf_mr}). The buffer cannot be closed before the
     * region.
     *
     * @param buffer the buffer
     * @param rights what may be done with it
     * @return the region, whose addresses are those of the GPU memory; to be closed before the domain
     * @throws CuFileException as {@link #register(MemoryRange, Set)}; CUDA_POINTER_INVALID if the buffer is closed,
     *         IO_NOT_SUPPORTED if libibverbs is too old
     */
    public MemoryRegion register(DmaBuf buffer, Set<RdmaAccess> rights) {
        int bits = RdmaAccess.toBits(rights);
        if (!calls.hasDmaBuf()) {
            throw CuFileException.of(
                    CuFileError.IO_NOT_SUPPORTED,
                    "ibv_reg_dmabuf_mr",
                    "this libibverbs is older than rdma-core 34, which brought it");
        }
        if (!MemoryAccess.lifetime(buffer).claim()) {
            throw CuFileException.of(CuFileError.CUDA_POINTER_INVALID, "ibv_reg_dmabuf_mr", "the dma-buf is closed");
        }
        long address = buffer.range().address();
        return region(
                () -> calls.regDmaBufMr(handle, buffer.offset(), buffer.length(), address, buffer.fd(), bits),
                "MemoryRegion of " + buffer,
                () -> MemoryAccess.lifetime(buffer).unclaim());
    }

    /** Makes synchronous copies to GPU memory complete on return, because the device may read what they wrote. */
    private void synchronise(MemoryRange memory) {
        if (!memory.kind().isCuda()) {
            return;
        }
        CudaContexts contexts = cuda.get().cudaContexts().orElseThrow(() -> CuFileException.of(
                CuFileError.CUDA_POINTER_INVALID, "ibv_reg_mr", "there is no CUDA driver that knows " + memory));
        CudaPointers pointers = new CudaPointers(contexts.cuda());
        long context = contexts.contextOf(memory.address(), memory.device());
        int synced = contexts.in(context, () -> pointers.synchronise(memory.address()));
        if (synced != Cuda.ERROR_NOT_SUPPORTED) {
            CudaErrors.check(contexts.cuda(), "cuPointerSetAttribute", synced);
        }
    }

    private static void check(long length) {
        if (length == 0) {
            throw CuFileException.of(CuFileError.INVALID_VALUE, "ibv_reg_mr", "the range is empty");
        }
    }

    /** What verbs hands out. */
    interface Registration {
        VerbsCalls.Region make();
    }

    private MemoryRegion region(Registration registration, String what, Runnable letGo) {
        boolean claimed = lifetime.claim();
        boolean made = false;
        try {
            if (!claimed) {
                throw CuFileException.of(CuFileError.MEMORY_NOT_REGISTERED, "ibv_reg_mr", "the domain is closed");
            }
            VerbsCalls.Region region = registration.make();
            Lifetime domain = lifetime;
            VerbsCalls verbs = calls;
            MemoryRegion result = new MemoryRegion(region, what, () -> {
                try {
                    verbs.deregMr(region.handle());
                } finally {
                    letGo.run();
                    domain.unclaim();
                }
            });
            made = true;
            return result;
        } finally {
            if (!made) {
                letGo.run();
                if (claimed) {
                    lifetime.unclaim();
                }
            }
        }
    }

    /** {@return true until {@link #close}} */
    public boolean isOpen() {
        return lifetime.isOpen();
    }

    /**
     * Gives the domain back and closes the device. Idempotent.
     *
     * @throws CuFileException IO_NOT_SUPPORTED (EBUSY), and nothing has changed, while it has regions
     */
    @Override
    public void close() {
        lifetime.close(this, "ibv_dealloc_pd");
    }
}
