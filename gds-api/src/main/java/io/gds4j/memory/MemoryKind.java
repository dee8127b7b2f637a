package io.gds4j.memory;

/**
 * Where memory is and how it is allocated.
 *
 * @since 0.1
 */
public enum MemoryKind {
    /** Page-aligned or plain host memory. */
    HOST(false),
    /** Host memory in 2 MiB pages; in ordinary pages if none are available. */
    HOST_HUGEPAGE(false),
    /** Host memory pinned for GPUs, by {@code cuMemHostAlloc} or {@code cuMemHostRegister}. */
    HOST_PINNED(false),
    /** Ordinary host memory, pinned for GPUs in place ({@code cuMemHostRegister}). */
    HOST_REGISTERED(false),
    /** GPU memory of {@code cuMemAlloc}. */
    CUDA_DEVICE(true),
    /**
     * Memory that migrates between host and GPU ({@code cuMemAllocManaged}). Reads into it go through a bounce buffer, because
     * its pages may move meanwhile. The copy moves pages from the host to the GPU; {@link MemoryAllocator#prefetch} moves them
     * earlier.
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

    /** {@return true for memory that a GPU's driver allocates and the host must not dereference} */
    public boolean isCuda() {
        return cuda;
    }

    /** {@return true for memory that the host addresses directly} */
    public boolean isHost() {
        return !cuda;
    }
}
