package io.gds4j.interop.dlpack;

import io.gds4j.error.CuFileError;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaDriver;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;

/**
 * A device of DLPack ({@code DLDevice}).
 *
 * @param type {@code DLDeviceType}
 * @param id ordinal of the GPU; 0 for host and managed memory
 * @since 0.1
 */
public record DlPackDevice(int type, int id) {
    /** Host memory ({@code kDLCPU}). */
    public static final DlPackDevice CPU = new DlPackDevice(1, 0);
    /** Pinned host memory ({@code kDLCUDAHost}). */
    public static final DlPackDevice CUDA_HOST = new DlPackDevice(3, 0);
    /** Managed memory ({@code kDLCUDAManaged}). */
    public static final DlPackDevice CUDA_MANAGED = new DlPackDevice(13, 0);

    private static final int CUDA_TYPE = 2;

    /** Returns memory of a GPU ({@code kDLCUDA}). */
    public static DlPackDevice cuda(int ordinal) {
        return new DlPackDevice(CUDA_TYPE, ordinal);
    }

    /** Returns the device of memory. */
    public static DlPackDevice of(MemoryRange range) {
        return switch (range.kind()) {
            case HOST, HOST_HUGEPAGE -> CPU;
            case HOST_PINNED, HOST_REGISTERED -> CUDA_HOST;
            case CUDA_MANAGED -> CUDA_MANAGED;
            case CUDA_DEVICE, CUDA_POOL, CUDA_VMM -> cuda(range.device());
        };
    }

    /**
     * Returns the kind of memory that a tensor of this device has.
     *
     * @throws io.gds4j.error.CuFileException CUDA_MEMORY_TYPE_INVALID for a device whose memory gds4j cannot use, such as Metal;
     *         DEVICE_NOT_FOUND for a GPU that this process does not see
     */
    public MemoryKind kind() {
        if (type == CPU.type) {
            return MemoryKind.HOST;
        }
        if (type == CUDA_HOST.type) {
            return MemoryKind.HOST_PINNED;
        }
        if (!isGpu()) {
            throw Refusals.of(
                    CuFileError.CUDA_MEMORY_TYPE_INVALID,
                    ("device type %s is not supported; allowed are 1 (CPU), 2 (CUDA), 3 (CUDA host) and 13 (CUDA managed)")
                            .formatted(type));
        }
        requireGpu();
        return type == CUDA_TYPE ? MemoryKind.CUDA_DEVICE : MemoryKind.CUDA_MANAGED;
    }

    /** Returns whether it is one whose memory a GPU of CUDA has. */
    boolean isGpu() {
        return type == CUDA_TYPE || type == CUDA_MANAGED.type;
    }

    private void requireGpu() {
        CudaAvailability cuda = CudaDriver.detect();
        if (cuda instanceof CudaAvailability.Unavailable none) {
            throw Refusals.of(
                    CuFileError.DEVICE_NOT_FOUND, "the tensor is on GPU %s: %s".formatted(id, none.reason()));
        }
        if (id < 0 || id >= cuda.deviceCount()) {
            throw Refusals.of(
                    CuFileError.DEVICE_NOT_FOUND,
                    "the tensor is on GPU %s; this process sees %s GPUs".formatted(id, cuda.deviceCount()));
        }
    }
}
