package io.gds4j.rdma;

import io.gds4j.Experimental;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
import io.gds4j.ffi.cuda.CudaPointers;
import io.gds4j.ffi.verbs.DeviceAttributes;
import io.gds4j.ffi.verbs.Verbs;
import io.gds4j.internal.lifetime.Lifetime;
import io.gds4j.internal.lifetime.Undo;
import io.gds4j.internal.memory.MemoryAccess;
import io.gds4j.memory.DmaBuf;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.util.EnumSet;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * A protection domain of an open RDMA device: its regions, windows and queue pairs work with each other only. Cannot be closed
 * while it has any. Close windows first, then queue pairs, regions, and the domain, which closes the device. Thread-safe.
 *
 * @since 0.1
 */
@Experimental
public final class ProtectionDomain implements AutoCloseable {
    private final DomainHandle domain;
    private final Supplier<CudaAvailability> cuda;
    private final Lifetime lifetime;

    /** @param after what follows when the domain has been given back */
    private ProtectionDomain(DomainHandle domain, Supplier<CudaAvailability> cuda, Runnable after) {
        this.domain = domain;
        this.cuda = cuda;
        this.lifetime = Lifetime.of(this, "ProtectionDomain of " + domain.device(), () -> {
            try {
                domain.release();
            } finally {
                after.run();
            }
        });
    }

    /** Makes a domain that closes the device. If that fails, closes the device itself. */
    static ProtectionDomain on(Verbs verbs, Supplier<CudaAvailability> cuda, String device, long context) {
        long handle = verbs.allocPd(context);
        if (handle < 0) {
            verbs.closeDevice(context);
        }
        RdmaFailure.check("ibv_alloc_pd", device, handle);
        DomainHandle domain = new DomainHandle(verbs, device, context, handle);
        return new ProtectionDomain(domain, cuda, domain::closeDevice);
    }

    /**
     * Makes another domain on the same open device ({@code ibv_alloc_pd}), to which regions of this one may move.
     *
     * @return the domain, to be closed before this one
     * @throws CuFileException MEMORY_NOT_REGISTERED if this domain is closed, or that of the verb
     */
    public ProtectionDomain sibling() {
        DomainHandle.claim(lifetime, "ibv_alloc_pd");
        return Undo.ifFails(lifetime::unclaim, () -> {
            long handle = domain.check("ibv_alloc_pd", domain.verbs().allocPd(domain.context()));
            return new ProtectionDomain(
                    new DomainHandle(domain.verbs(), domain.device(), domain.context(), handle), cuda,
                    () -> this.lifetime.unclaim());
        });
    }

    DomainHandle handle() {
        return domain;
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
     *         LOCAL_WRITE to a read-only segment, MEMORY_NOT_REGISTERED if the domain is closed, NOMEM_ERROR,
     *         IO_NOT_SUPPORTED or GPU_MEMORY_PINNING_FAILED with the errno where verbs refused, CUDA_MEMORY_TYPE_INVALID for
     *         managed memory, which migrates, CUDA_POINTER_INVALID for GPU memory that the driver does not know
     */
    public MemoryRegion register(MemoryRange memory, Set<RdmaAccess> rights) {
        return register(memory, memory.address(), rights);
    }

    /**
     * Registers memory under addresses of choice ({@code ibv_reg_mr_iova}).
     *
     * @param memory the memory, of any alignment
     * @param ioAddress how the device and peers name the first byte; its offset in a page must be that of the memory
     * @param rights what may be done with it
     * @return the region, to be closed before the domain
     * @throws CuFileException as {@link #register(MemoryRange, Set)}
     */
    public MemoryRegion register(MemoryRange memory, long ioAddress, Set<RdmaAccess> rights) {
        int bits = RdmaAccess.toBits(rights, memory, "ibv_reg_mr");
        check(memory);
        MemoryAccess.USES.claim(memory);
        boolean own = ioAddress == memory.address();
        return region(
                own ? "ibv_reg_mr" : "ibv_reg_mr_iova",
                () -> {
                    synchronise(memory);
                    return own
                            ? domain.verbs().regMr(domain.handle(), ioAddress, memory.length(), bits)
                            : domain.verbs()
                                    .regMrIova(domain.handle(), memory.address(), memory.length(), ioAddress, bits);
                },
                ioAddress, memory, rights, () -> MemoryAccess.USES.unclaim(memory));
    }

    private static void check(MemoryRange memory) {
        if (memory.length() == 0) {
            throw RdmaFailure.of(CuFileError.INVALID_VALUE, "ibv_reg_mr", Errno.EINVAL, "the range is empty");
        }
        if (memory.kind() == MemoryKind.CUDA_MANAGED) {
            throw RdmaFailure.of(
                    CuFileError.CUDA_MEMORY_TYPE_INVALID,
                    "ibv_reg_mr", Errno.EINVAL,
                    "managed memory migrates: no device can hold on to it");
        }
    }

    /**
     * Registers GPU memory that was exported as a dma-buf ({@code ibv_reg_dmabuf_mr}). The buffer cannot be closed before the
     * region.
     *
     * @param buffer the buffer
     * @param rights what may be done with it
     * @return the region, whose addresses are those of the GPU memory; to be closed before the domain
     * @throws CuFileException as {@link #register(MemoryRange, Set)}; CUDA_POINTER_INVALID if the buffer is closed,
     *         IO_NOT_SUPPORTED (EOPNOTSUPP) if libibverbs is older than rdma-core 34 or the device cannot
     */
    public MemoryRegion register(DmaBuf buffer, Set<RdmaAccess> rights) {
        return register(buffer, buffer.range().address(), rights);
    }

    /**
     * Registers a dma-buf under addresses of choice ({@code ibv_reg_dmabuf_mr}).
     *
     * @param buffer the buffer
     * @param ioAddress how the device and peers name the first byte
     * @param rights what may be done with it
     * @return the region, to be closed before the domain
     * @throws CuFileException as {@link #register(DmaBuf, Set)}
     */
    public MemoryRegion register(DmaBuf buffer, long ioAddress, Set<RdmaAccess> rights) {
        int bits = RdmaAccess.toBits(rights);
        if (!MemoryAccess.USES.lifetime(buffer).claim()) {
            throw RdmaFailure.of(CuFileError.CUDA_POINTER_INVALID, "ibv_reg_dmabuf_mr", Errno.EFAULT,
                    "the dma-buf is closed");
        }
        return region(
                "ibv_reg_dmabuf_mr",
                () -> domain.verbs()
                        .regDmaBufMr(domain.handle(), buffer.offset(), buffer.length(), ioAddress, buffer.fd(), bits),
                ioAddress, buffer.range(), rights, () -> MemoryAccess.USES.lifetime(buffer).unclaim());
    }

    /**
     * Moves a region here from another domain of the same open device, and changes its rights ({@code ibv_rereg_mr}). Queue pairs
     * of the old domain reach it no more.
     *
     * @param region a region of a {@linkplain #sibling sibling}, or of the domain whose sibling this is
     * @param changed the new rights
     * @throws CuFileException as {@link MemoryRegion#reregister(Set)}; INVALID_VALUE for a region of another open device,
     *         MEMORY_NOT_REGISTERED if this domain is closed
     */
    public void reregister(MemoryRegion region, Set<RdmaAccess> changed) {
        DomainHandle.claim(lifetime, "ibv_rereg_mr");
        Undo.ifFails(lifetime::unclaim, () -> region.reregister(domain, lifetime, changed));
    }

    /** Makes synchronous copies to GPU memory complete on return, because the device may read what they wrote. */
    private void synchronise(MemoryRange memory) {
        if (!memory.kind().isCuda()) {
            return;
        }
        CudaContexts contexts = cuda.get().cudaContexts().orElseThrow(() -> RdmaFailure.of(
                CuFileError.CUDA_POINTER_INVALID, "ibv_reg_mr", Errno.EFAULT,
                "there is no CUDA driver that knows " + memory));
        CudaPointers pointers = new CudaPointers(contexts.cuda());
        long context = contexts.contextOf(memory.address(), memory.device());
        int synced = contexts.in(context, () -> pointers.synchronise(memory.address(), memory.length()));
        if (synced != Cuda.ERROR_NOT_SUPPORTED) {
            CudaErrors.check(contexts.cuda(), "cuPointerSetAttribute", synced);
        }
    }

    private MemoryRegion region(
            String verb, LongSupplier registration, long ioAddress, MemoryRange memory, Set<RdmaAccess> rights,
            Runnable letGo) {
        return Undo.ifFails(letGo::run, () -> {
            DomainHandle.claim(lifetime, verb);
            return Undo.ifFails(lifetime::unclaim, () -> {
                long handle = registration.getAsLong();
                if (handle < 0) {
                    throw notRegistered(verb, (int) -handle, memory.length());
                }
                return new MemoryRegion(domain, lifetime, handle, ioAddress, memory, rights, letGo);
            });
        });
    }

    private CuFileException notRegistered(String verb, int errno, long length) {
        return CuFileException.builder(verb)
                .error(switch (errno) {
                    case Errno.ENOMEM -> CuFileError.NOMEM_ERROR;
                    case Errno.EOPNOTSUPP, Errno.ENOSYS -> CuFileError.IO_NOT_SUPPORTED;
                    default -> CuFileError.GPU_MEMORY_PINNING_FAILED;
                })
                .errno(errno)
                .range(-1, length)
                .detail(domain.device() + " did not register the memory")
                .build();
    }

    /**
     * Makes a memory window ({@code ibv_alloc_mw}), not bound yet.
     *
     * @param type its type
     * @return the window, to be closed before the domain
     * @throws CuFileException IO_NOT_SUPPORTED (EOPNOTSUPP) where the device has no such windows, NOMEM_ERROR where it has no
     *         more, MEMORY_NOT_REGISTERED if the domain is closed
     */
    public MemoryWindow window(WindowType type) {
        DomainHandle.claim(lifetime, "ibv_alloc_mw");
        return Undo.ifFails(lifetime::unclaim, () -> {
            long handle = domain.check("ibv_alloc_mw", domain.verbs().allocMw(domain.handle(), type.code()));
            return new MemoryWindow(domain, lifetime, handle, type);
        });
    }

    /** {@return a builder of queue pairs} */
    public QueuePair.Builder queuePair() {
        return new QueuePair.Builder(domain, lifetime);
    }

    /**
     * Asks the device for its limits ({@code ibv_query_device}).
     *
     * @return the answer
     * @throws CuFileException with the errno if the device does not answer
     */
    public RdmaDevice device() {
        DeviceAttributes answer = new DeviceAttributes();
        try (Lifetime.Call _ = DomainHandle.begin(lifetime, "ibv_query_device")) {
            domain.check("ibv_query_device", domain.verbs().queryDevice(domain.context(), answer));
        }
        Set<WindowType> windows = EnumSet.noneOf(WindowType.class);
        if ((answer.flags() & DeviceAttributes.MEM_WINDOW) != 0) {
            windows.add(WindowType.TYPE_1);
        }
        if ((answer.flags() & (DeviceAttributes.MEM_WINDOW_2A | DeviceAttributes.MEM_WINDOW_2B)) != 0) {
            windows.add(WindowType.TYPE_2);
        }
        return new RdmaDeviceParts(
                domain.device(), answer.ports(), answer.maxQueuePairs(), answer.maxRequests(), answer.maxRegions(),
                answer.maxWindows(), answer.maxReads(), answer.atomics() != 0, Set.copyOf(windows));
    }

    /**
     * Asks for a port ({@code ibv_query_port}).
     *
     * @param number of the port, from 1
     * @return the answer
     * @throws CuFileException INVALID_VALUE (EINVAL) if there is none
     */
    public RdmaPort port(int number) {
        try (Lifetime.Call _ = DomainHandle.begin(lifetime, "ibv_query_port")) {
            return RdmaPort.query(domain, number);
        }
    }

    /**
     * Asks for an address of a port ({@code ibv_query_gid}).
     *
     * @param port number of the port, from 1
     * @param index of the address, from 0
     * @return the address, zeros where the index is free
     * @throws CuFileException INVALID_VALUE (EINVAL) or another code with the errno if there is none
     */
    public Gid gid(int port, int index) {
        try (Lifetime.Call _ = DomainHandle.begin(lifetime, "ibv_query_gid")) {
            return Gid.query(domain, port, index);
        }
    }

    /** {@return true until {@link #close}} */
    public boolean isOpen() {
        return lifetime.isOpen();
    }

    /**
     * Gives the domain back and closes the device, unless it is a sibling. Idempotent.
     *
     * @throws CuFileException IO_NOT_SUPPORTED (EBUSY), and nothing has changed, while it has regions, windows, queue pairs or
     *         siblings
     */
    @Override
    public void close() {
        lifetime.close(this, "ibv_dealloc_pd");
    }
}
