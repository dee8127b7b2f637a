package io.gds4j.memory;

/**
 * Where memory lives and how it was made.
 *
 * @since 0.1
 */
public enum MemoryKind {
    /** Page-aligned or plain host memory. */
    HOST(false),
    /** Host memory in 2 MiB pages; falls back to ordinary pages where there are none. */
    HOST_HUGEPAGE(false),
    /** Host memory pinned for GPUs, however the driver does it best ({@code cuMemHostAlloc} or {@code cuMemHostRegister}). */
    HOST_PINNED(false),
    /** Host memory of the system's pages, pinned for GPUs where it is ({@code cuMemHostRegister}). */
    HOST_REGISTERED(false),
    /** GPU memory of {@code cuMemAlloc}. */
    CUDA_DEVICE(true),
    /**
     * Memory that migrates between host and GPU ({@code cuMemAllocManaged}). It is never read into directly, since its pages may
     * move meanwhile: bytes go through a bounce buffer, and pages that were on the host migrate when the copy touches them.
     * {@link MemoryAllocator#prefetch} moves them before.
     */
    CUDA_MANAGED(true),
    /** Stream-ordered GPU memory ({@code cuMemAllocAsync}). */
    CUDA_POOL(true),
    /** GPU memory of the virtual memory management calls ({@code cuMemCreate}, {@code cuMemMap}). */
    CUDA_VMM(true);

    private final boolean cuda;

    MemoryKind(boolean cuda) {
        this.cuda = cuda;
    }

    /** {@return true for memory that a GPU's driver allocates and that the host may not simply dereference} */
    public boolean isCuda() {
        return cuda;
    }

    /** {@return true for memory that the host addresses directly without the driver's help} */
    public boolean isHost() {
        return !cuda;
    }
}
