package io.gds4j.jcuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.engine.memory.NativeMemoryAllocator;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaDriver;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.SplittableRandom;
import jcuda.Pointer;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdevice;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUmemAttach_flags;
import jcuda.driver.CUresult;
import jcuda.driver.CUstream;
import jcuda.driver.JCudaDriver;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A JCuda program with a context of its own beside gds4j, on a GPU. */
@Tag("gpu")
class GpuJCudaTest {
    private static final int SIZE = 1_000_003;

    private final CUcontext context = new CUcontext();
    private final byte[] bytes = new byte[SIZE];
    private NativeMemoryAllocator allocator;
    private Cuda cuda;

    @BeforeAll
    static void load() {
        JCudaNatives.loadDriver();
        JCudaNatives.loadDriver();
        check(JCudaDriver.cuInit(0));
    }

    private static void check(int result) {
        assertThat(result).as(CUresult.stringFor(result)).isZero();
    }

    @BeforeEach
    void makeAContext() {
        CUdevice device = new CUdevice();
        check(JCudaDriver.cuDeviceGet(device, 0));
        check(JCudaDriver.cuCtxCreate(context, 0, device));
        CudaAvailability found = CudaDriver.detect();
        cuda = found.cuda().orElseThrow();
        allocator = new NativeMemoryAllocator(FfmPosix.instance(), found);
        new SplittableRandom(7).nextBytes(bytes);
    }

    @AfterEach
    void dropIt() {
        JCudaDriver.setExceptionsEnabled(false);
        long[] current = new long[1];
        assertThat(cuda.ctxGetCurrent(current)).isZero();
        assertThat(current[0]).isEqualTo(JCudaPointers.handle(context));
        check(JCudaDriver.cuCtxDestroy(context));
        allocator.close();
    }

    private byte[] read(MemoryRange range) {
        byte[] read = new byte[(int) range.length()];
        allocator.copyToHost(range, MemorySegment.ofArray(read));
        return read;
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void memoryOfJCudaIsFilledByGds4jAndReadByJCuda(boolean exceptions) {
        JCudaDriver.setExceptionsEnabled(exceptions);
        CUdeviceptr pointer = new CUdeviceptr();
        check(JCudaDriver.cuMemAlloc(pointer, SIZE + 256));
        MemoryRange range = JCudaInterop.memory(pointer.withByteOffset(256), SIZE);
        assertThat(range.kind()).isEqualTo(MemoryKind.CUDA_DEVICE);
        assertThat(range.device()).isZero();
        allocator.copyFromHost(MemorySegment.ofArray(bytes), range);
        byte[] seen = new byte[SIZE];
        check(JCudaDriver.cuMemcpyDtoH(Pointer.to(seen), pointer.withByteOffset(256), SIZE));
        assertThat(seen).isEqualTo(bytes);
        assertThat(catchThrowableOfType(CuFileException.class, () -> JCudaInterop.memory(pointer, 64L << 20)).error())
                .isEqualTo(CuFileError.CUDA_POINTER_RANGE_ERROR);
        check(JCudaDriver.cuMemFree(pointer));
        assertThat(catchThrowableOfType(CuFileException.class, () -> allocator.fill(range, (byte) 1)).error())
                .isEqualTo(CuFileError.CUDA_POINTER_INVALID);
    }

    @ParameterizedTest
    @EnumSource(value = MemoryKind.class, names = {"CUDA_DEVICE", "CUDA_MANAGED", "CUDA_POOL", "CUDA_VMM"})
    void memoryOfGds4jIsReadByJCuda(MemoryKind kind) {
        try (MemoryAllocation memory = allocator.allocate(kind, SIZE)) {
            allocator.copyFromHost(MemorySegment.ofArray(bytes), memory.range());
            CUdeviceptr pointer = JCudaInterop.pointer(memory.range().slice(3, SIZE - 3));
            byte[] seen = new byte[SIZE - 3];
            CUcontext primary = new CUcontext();
            CUdevice device = new CUdevice();
            check(JCudaDriver.cuDeviceGet(device, 0));
            check(JCudaDriver.cuDevicePrimaryCtxRetain(primary, device));
            check(JCudaDriver.cuCtxPushCurrent(primary));
            check(JCudaDriver.cuMemcpyDtoH(Pointer.to(seen), pointer, seen.length));
            check(JCudaDriver.cuCtxPopCurrent(new CUcontext()));
            check(JCudaDriver.cuDevicePrimaryCtxRelease(device));
            assertThat(seen).isEqualTo(Arrays.copyOfRange(bytes, 3, SIZE));
            MemoryRange back = JCudaInterop.memory(pointer, SIZE - 3);
            System.out.println("JCuda sees " + kind + " as " + back);
            assertThat(back.address()).isEqualTo(memory.range().address() + 3);
            if (kind != MemoryKind.CUDA_VMM) {
                assertThat(back.kind()).isEqualTo(kind);
            }
            assertThat(back.kind().isCuda()).isTrue();
            assertThat(read(back)).isEqualTo(seen);
        }
    }

    @Test
    void managedMemoryOfJCudaIsManaged() {
        CUdeviceptr pointer = new CUdeviceptr();
        check(JCudaDriver.cuMemAllocManaged(pointer, SIZE, CUmemAttach_flags.CU_MEM_ATTACH_GLOBAL));
        MemoryRange range = JCudaInterop.memory(pointer, SIZE);
        assertThat(range.kind()).isEqualTo(MemoryKind.CUDA_MANAGED);
        allocator.copyFromHost(MemorySegment.ofArray(bytes), range);
        assertThat(read(range)).isEqualTo(bytes);
        check(JCudaDriver.cuMemFree(pointer));
    }

    @Test
    void pinnedMemoryOfJCudaIsHostMemory() {
        Pointer pointer = new Pointer();
        check(JCudaDriver.cuMemHostAlloc(pointer, SIZE, JCudaDriver.CU_MEMHOSTALLOC_PORTABLE));
        MemoryRange range = JCudaInterop.hostMemory(pointer, SIZE);
        assertThat(range.kind()).isEqualTo(MemoryKind.HOST_PINNED);
        allocator.copyFromHost(MemorySegment.ofArray(bytes), range);
        try (MemoryAllocation gpu = allocator.allocate(MemoryKind.CUDA_DEVICE, SIZE)) {
            allocator.copy(range, gpu.range());
            assertThat(read(gpu.range())).isEqualTo(bytes);
        }
        check(JCudaDriver.cuMemFreeHost(pointer));
    }

    @Test
    void hostMemoryOfGds4jIsTakenByJCuda() {
        CUdeviceptr pointer = new CUdeviceptr();
        check(JCudaDriver.cuMemAlloc(pointer, SIZE));
        try (MemoryAllocation host = allocator.allocate(MemoryKind.HOST, SIZE)) {
            allocator.copyFromHost(MemorySegment.ofArray(bytes), host.range());
            check(JCudaDriver.cuMemcpyHtoD(pointer, JCudaInterop.hostPointer(host.range()), SIZE));
            assertThat(read(JCudaInterop.memory(pointer, SIZE))).isEqualTo(bytes);
        }
        check(JCudaDriver.cuMemFree(pointer));
    }

    @Test
    void streamsOfJCudaHaveTheirDriversHandle() {
        CUstream stream = new CUstream();
        check(JCudaDriver.cuStreamCreate(stream, Cuda.STREAM_NON_BLOCKING));
        long handle = JCudaInterop.stream(stream);
        assertThat(handle).isNotZero();
        assertThat(cuda.streamQuery(handle)).isZero();
        assertThat(cuda.streamSynchronize(handle)).isZero();
        check(JCudaDriver.cuStreamDestroy(stream));
    }

    @Test
    void exceptionModeOfJCudaChangesNothingInGds4j() {
        JCudaDriver.setExceptionsEnabled(true);
        assertThat(cuda.memFree(0x1000)).isNotZero();
        CuFileException failure = catchThrowableOfType(
                CuFileException.class, () -> allocator.allocate(MemoryKind.CUDA_DEVICE, 1L << 42));
        assertThat(failure.error()).isEqualTo(CuFileError.NOMEM_ERROR);
        try (MemoryAllocation memory = allocator.allocate(MemoryKind.CUDA_DEVICE, SIZE)) {
            allocator.copyFromHost(MemorySegment.ofArray(bytes), memory.range());
            assertThat(read(memory.range())).isEqualTo(bytes);
        }
    }
}
