package io.gds4j.jcuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.engine.memory.NativeMemoryAllocator;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.CudaPointers;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.nio.ByteBuffer;
import jcuda.Pointer;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUstream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Addresses between gds4j and JCuda; no test loads JCuda's library. */
class JCudaInteropTest {
    private static final long ADDRESS = 0x7f12_3456_7890L;

    private static CuFileException failure(Runnable call) {
        return catchThrowableOfType(CuFileException.class, call::run);
    }

    @Test
    void devicePointersKeepAddressAndOffset() {
        CUdeviceptr pointer = JCudaPointers.devicePointer(ADDRESS);
        assertThat(JCudaPointers.address(pointer)).isEqualTo(ADDRESS);
        assertThat(JCudaPointers.address(pointer.withByteOffset(4096))).isEqualTo(ADDRESS + 4096);
        assertThat(JCudaPointers.address(new CUdeviceptr())).isZero();
    }

    @Test
    void rangesBecomePointersOfTheirSide() {
        MemoryRange gpu = MemoryRange.ofAddress(ADDRESS, 64, MemoryKind.CUDA_DEVICE);
        MemoryRange host = MemoryRange.ofAddress(ADDRESS, 64, MemoryKind.HOST_PINNED);
        assertThat(JCudaPointers.address(JCudaInterop.pointer(gpu.slice(16, 8)))).isEqualTo(ADDRESS + 16);
        assertThat(JCudaPointers.hostAddress(JCudaInterop.hostPointer(host.slice(16, 8)))).isEqualTo(ADDRESS + 16);
        assertThat(failure(() -> JCudaInterop.pointer(host)).error()).isEqualTo(CuFileError.CUDA_MEMORY_TYPE_INVALID);
        assertThat(failure(() -> JCudaInterop.hostPointer(gpu)).error())
                .isEqualTo(CuFileError.CUDA_MEMORY_TYPE_INVALID);
    }

    @Test
    void hostPointersComeBackAsRanges() {
        Pointer pointer = JCudaPointers.hostPointer(ADDRESS).withByteOffset(8);
        MemoryRange range = JCudaInterop.hostMemory(pointer, 100);
        assertThat(range).isEqualTo(MemoryRange.ofAddress(ADDRESS + 8, 100, MemoryKind.HOST));
    }

    @Test
    void pointersToJavaMemoryAreRefusedWithTheWayOut() {
        for (Pointer pointer : new Pointer[]{Pointer.to(new byte[8]), Pointer.to(ByteBuffer.allocateDirect(8)),
                new Pointer()}) {
            CuFileException failure = failure(() -> JCudaInterop.hostMemory(pointer, 8));
            assertThat(failure.error()).isEqualTo(CuFileError.CUDA_MEMORY_TYPE_INVALID);
            assertThat(failure).hasMessageContaining("MemorySegment.ofBuffer");
        }
    }

    @Test
    void streamThatWasNotCreatedIsTheDefaultOne() {
        assertThat(JCudaInterop.stream(new CUstream())).isZero();
    }

    @ParameterizedTest
    @EnumSource(MemoryKind.class)
    void memoryIsOfTheKindAndGpuThatTheDriverTells(MemoryKind kind) {
        FakeCuda cuda = new FakeCuda(2, 64 << 20);
        try (NativeMemoryAllocator allocator = new NativeMemoryAllocator(FfmPosix.instance(), cuda.available());
                MemoryAllocation memory = allocator.allocate(kind, 5000, 1)) {
            long address = memory.range().address() + 1000;
            CudaPointers pointers = new CudaPointers(cuda);
            if (kind == MemoryKind.HOST || kind == MemoryKind.HOST_HUGEPAGE) {
                assertThat(failure(() -> JCudaInterop.memory(pointers, address, 8)).error())
                        .isEqualTo(CuFileError.CUDA_POINTER_INVALID);
                return;
            }
            MemoryRange range = JCudaInterop.memory(pointers, address, 4000);
            assertThat(range.kind()).isEqualTo(kind == MemoryKind.HOST_REGISTERED ? MemoryKind.HOST_PINNED : kind);
            assertThat(range.address()).isEqualTo(address);
            assertThat(range.length()).isEqualTo(4000);
            assertThat(range.device()).isEqualTo(kind.isCuda() ? 1 : MemoryRange.NO_DEVICE);
            assertThat(failure(() -> JCudaInterop.memory(pointers, address, 3L << 20)).error())
                    .isEqualTo(CuFileError.CUDA_POINTER_RANGE_ERROR);
            assertThat(failure(() -> JCudaInterop.memory(pointers, address, -1)).error())
                    .isEqualTo(CuFileError.INVALID_VALUE);
        }
        assertThat(cuda.leaks()).isEmpty();
    }

    /** A read would have written past the end of pinned memory. */
    @Test
    void hostMemoryEndsWithItsAllocation() {
        FakeCuda cuda = new FakeCuda(2, 64 << 20);
        CudaPointers pointers = new CudaPointers(cuda);
        try (NativeMemoryAllocator allocator = new NativeMemoryAllocator(FfmPosix.instance(), cuda.available());
                MemoryAllocation pinned = allocator.allocate(MemoryKind.HOST_PINNED, 5000, MemoryRange.NO_DEVICE);
                MemoryAllocation plain = allocator.allocate(MemoryKind.HOST, 5000, MemoryRange.NO_DEVICE)) {
            assertThat(JCudaInterop.hostMemory(pointers, pinned.address() + 8, 4000))
                    .isEqualTo(pinned.range().slice(8, 4000));
            assertThat(failure(() -> JCudaInterop.hostMemory(pointers, pinned.address(), 3L << 20)).error())
                    .isEqualTo(CuFileError.CUDA_POINTER_RANGE_ERROR);
            assertThat(JCudaInterop.hostMemory(pointers, plain.address(), 5000)).isEqualTo(plain.range());
            assertThat(failure(() -> JCudaInterop.hostMemory(pointers, plain.address(), -1)).error())
                    .isEqualTo(CuFileError.INVALID_VALUE);
        }
    }

    @Test
    void nullPointerIsInvalid() {
        CudaPointers pointers = new CudaPointers(new FakeCuda());
        assertThat(failure(() -> JCudaInterop.memory(pointers, 0, 8)).error()).isEqualTo(CuFileError.INVALID_VALUE);
    }
}
