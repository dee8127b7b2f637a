package io.gds4j.loader;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.loader.internal.load.DestinationBlock;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.util.Objects;
import java.util.Optional;

/**
 * Memory for one rank's tensors. Several ranks may use the same GPU or the host, which stands in for GPUs on any machine.
 *
 * @param kind kind of the memory
 * @param device ordinal of the GPU, or {@link MemoryRange#NO_DEVICE} for host kinds that need none
 * @param memory memory of the caller; empty if the load allocates
 * @since 0.1
 */
public record LoadDestination(MemoryKind kind, int device, Optional<MemoryRange> memory) {

    private static final String FUNCTION = "LoadDestination";

    /**
     * Checks the parts.
     *
     * @throws CuFileException INVALID_VALUE for a CUDA kind without a device; PERMISSION_DENIED for a read-only segment,
     *         CUDA_POINTER_INVALID for a segment of a confined arena
     */
    public LoadDestination {
        Objects.requireNonNull(kind, "kind");
        Objects.requireNonNull(memory, "memory");
        if (kind.isCuda() && device < 0) {
            throw CuFileException.invalid(FUNCTION, kind + " needs a device, got " + device);
        }
        if (memory.isPresent()) {
            if (!memory.get().isWritable()) {
                throw CuFileException.of(
                        CuFileError.PERMISSION_DENIED, FUNCTION, "the destination is a read-only segment");
            }
            DestinationBlock.checkAccess(memory.get());
        }
    }

    /** Returns memory that the load allocates. */
    public static LoadDestination of(MemoryKind kind, int device) {
        return new LoadDestination(kind, device, Optional.empty());
    }

    /** Returns host memory that the load allocates. */
    public static LoadDestination host() {
        return of(MemoryKind.HOST, MemoryRange.NO_DEVICE);
    }

    /** Returns memory of a GPU that the load allocates. */
    public static LoadDestination gpu(int device) {
        return of(MemoryKind.CUDA_DEVICE, device);
    }

    /** Returns memory of the caller, who keeps it allocated while the tensors are in use. */
    public static LoadDestination into(MemoryRange memory) {
        return new LoadDestination(memory.kind(), memory.device(), Optional.of(memory));
    }
}
