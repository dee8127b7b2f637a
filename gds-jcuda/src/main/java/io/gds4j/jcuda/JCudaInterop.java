package io.gds4j.jcuda;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaDriver;
import io.gds4j.ffi.cuda.CudaPointer;
import io.gds4j.ffi.cuda.CudaPointers;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import jcuda.Pointer;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUstream;

/**
 * Converts JCuda's pointers and streams to those of gds4j, and back.
 *
 * <pre>{@code
 * JCudaNatives.loadDriver();
 * CUdeviceptr pointer = new CUdeviceptr();
 * cuMemAlloc(pointer, size);
 * handle.read(JCudaInterop.memory(pointer, size), 0);
 * cuMemcpyDtoH(Pointer.to(array), JCudaInterop.pointer(allocation.range()), array.length);
 * }</pre>
 *
 * The owner of the memory must keep it allocated. Thread-safe. gds4j makes no call through JCuda, so that
 * {@code JCudaDriver.setExceptionsEnabled} changes nothing.
 *
 * @since 0.1
 */
@SuppressWarnings("exports") // a program that calls this has JCuda; others must not need it
public final class JCudaInterop {
    private static final String MEMORY = "JCudaInterop.memory";

    private JCudaInterop() {
    }

    /**
     * Returns GPU memory that JCuda allocated, from the pointer's byte offset on. The driver names kind and GPU.
     *
     * @param pointer pointer of {@code cuMemAlloc} or any other function that allocates GPU memory
     * @param length bytes, 0 or more
     * @throws CuFileException CUDA_POINTER_INVALID for a pointer that the driver does not know, CUDA_POINTER_RANGE_ERROR for
     *         a length past the end of its allocation, INVALID_VALUE for a null pointer or a negative length,
     *         CUDA_DRIVER_ERROR on a machine without a driver
     */
    public static MemoryRange memory(CUdeviceptr pointer, long length) {
        CudaAvailability.Available cuda = JCudaNatives.requireDriver(MEMORY, CudaDriver.detect());
        return memory(new CudaPointers(cuda.driver()), JCudaPointers.address(pointer), length);
    }

    static MemoryRange memory(CudaPointers pointers, long address, long length) {
        if (address == 0) {
            throw CuFileException.invalid(MEMORY, "the pointer is null");
        }
        CudaPointer found = pointers.classify(address);
        if (found.type() == CudaPointer.Type.UNKNOWN) {
            throw CuFileException.of(
                    CuFileError.CUDA_POINTER_INVALID,
                    MEMORY,
                    "the CUDA driver does not know the address 0x%x".formatted(address));
        }
        if (length >= 0 && !found.holds(length)) {
            throw CuFileException.of(
                    CuFileError.CUDA_POINTER_RANGE_ERROR,
                    MEMORY,
                    "%s bytes from 0x%x on reach past the allocation of %s bytes at 0x%x"
                            .formatted(length, address, found.rangeSize(), found.rangeStart()));
        }
        MemoryKind kind = found.kind();
        return MemoryRange.ofAddress(
                address, length, kind, kind.isCuda() ? Math.max(0, found.device()) : MemoryRange.NO_DEVICE);
    }

    /**
     * Returns host memory that JCuda allocated or knows the address of: that of {@code cuMemHostAlloc} or of
     * {@link #hostPointer}.
     *
     * @param pointer pointer to native memory
     * @param length bytes, 0 or more
     * @throws CuFileException CUDA_MEMORY_TYPE_INVALID for a pointer to a Java array or buffer: use
     *         {@code MemoryRange.ofSegment(MemorySegment.ofBuffer(buffer))} with a direct buffer instead;
     *         CUDA_POINTER_RANGE_ERROR for a length past the end of memory that the driver knows
     */
    public static MemoryRange hostMemory(Pointer pointer, long length) {
        if (pointer instanceof CUdeviceptr device) {
            return memory(device, length);
        }
        long address = JCudaPointers.hostAddress(pointer);
        if (address == 0) {
            throw CuFileException.of(
                    CuFileError.CUDA_MEMORY_TYPE_INVALID,
                    "JCudaInterop.hostMemory",
                    "not a pointer to native memory; take MemorySegment.ofBuffer of a direct buffer instead");
        }
        return CudaDriver.detect() instanceof CudaAvailability.Available cuda
                ? hostMemory(new CudaPointers(cuda.driver()), address, length)
                : MemoryRange.ofAddress(address, length, MemoryKind.HOST);
    }

    static MemoryRange hostMemory(CudaPointers pointers, long address, long length) {
        return pointers.classify(address).type() == CudaPointer.Type.UNKNOWN
                ? MemoryRange.ofAddress(address, length, MemoryKind.HOST)
                : memory(pointers, address, length);
    }

    /**
     * Returns JCuda's pointer to the first byte of a GPU range.
     *
     * @throws CuFileException CUDA_MEMORY_TYPE_INVALID for host memory: see {@link #hostPointer}
     */
    public static CUdeviceptr pointer(MemoryRange range) {
        if (!range.kind().isCuda()) {
            throw CuFileException.of(
                    CuFileError.CUDA_MEMORY_TYPE_INVALID, "JCudaInterop.pointer", "not GPU memory: " + range);
        }
        return JCudaPointers.devicePointer(range.address());
    }

    /**
     * Returns JCuda's pointer to the first byte of a host range.
     *
     * @throws CuFileException CUDA_MEMORY_TYPE_INVALID for GPU memory: see {@link #pointer}
     */
    public static Pointer hostPointer(MemoryRange range) {
        if (!range.kind().isHost()) {
            throw CuFileException.of(
                    CuFileError.CUDA_MEMORY_TYPE_INVALID, "JCudaInterop.hostPointer", "not host memory: " + range);
        }
        return JCudaPointers.hostPointer(range.address());
    }

    /** Returns the stream's handle; 0, the default stream, for one that was not created. */
    public static long stream(CUstream stream) {
        return JCudaPointers.handle(stream);
    }
}
