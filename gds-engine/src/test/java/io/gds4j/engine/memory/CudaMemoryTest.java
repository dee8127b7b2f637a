package io.gds4j.engine.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaFunction;
import io.gds4j.ffi.cuda.CudaPointer;
import io.gds4j.ffi.cuda.CudaPointers;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.FaultyPosix;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.memory.GrowableMemory;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** All kinds of memory over a driver that does no work before a wait for it. */
@Tag("slow")
class CudaMemoryTest {
    private static final long SIZE = 100_003;

    private final FaultyPosix posix = new FaultyPosix(FfmPosix.instance());
    private final FakeCuda cuda = new FakeCuda(2, 64L << 20);
    private final NativeMemoryAllocator allocator = new NativeMemoryAllocator(posix, cuda.available());

    @AfterEach
    void nothingLeaksAndNoRuleIsBroken() {
        allocator.close();
        assertThat(cuda.leaks()).isEmpty();
        assertThat(cuda.violations()).isEmpty();
        assertThat(posix.leaks()).isEmpty();
    }

    private static CuFileException failure(Runnable call) {
        return catchThrowableOfType(CuFileException.class, call::run);
    }

    private static byte[] random(long size) {
        byte[] bytes = new byte[(int) size];
        new SplittableRandom(size).nextBytes(bytes);
        return bytes;
    }

    private byte[] read(MemoryRange range) {
        byte[] bytes = new byte[(int) range.length()];
        allocator.copyToHost(range, MemorySegment.ofArray(bytes));
        return bytes;
    }

    @ParameterizedTest
    @EnumSource(value = MemoryKind.class, names = {"CUDA_DEVICE", "CUDA_MANAGED"})
    void nativeSegmentsAreCopiedWithoutStaging(MemoryKind kind) {
        byte[] bytes = random(SIZE);
        try (MemoryAllocation memory = allocator.allocate(kind, SIZE); Arena arena = Arena.ofShared()) {
            MemorySegment segment = arena.allocateFrom(ValueLayout.JAVA_BYTE, bytes);
            allocator.copyFromHost(segment, memory.range());
            MemorySegment out = arena.allocate(SIZE);
            allocator.copyToHost(memory.range(), out);
            assertThat(out.toArray(ValueLayout.JAVA_BYTE)).isEqualTo(bytes);
            allocator.fill(MemoryRange.ofSegment(out), (byte) 0);
            allocator.copy(memory.range(), MemoryRange.ofSegment(out));
            assertThat(out.toArray(ValueLayout.JAVA_BYTE)).isEqualTo(bytes);
        }
        long copies = cuda.calls(CudaFunction.MEMCPY_ASYNC)
                + cuda.calls(CudaFunction.MEMCPY_HTOD_ASYNC)
                + cuda.calls(CudaFunction.MEMCPY_DTOH_ASYNC);
        assertThat(copies).isEqualTo(3);
    }

    @Test
    void contextAtAFreedAddressGetsItsOwnStreams() {
        long handle = cuda.createContext(0);
        for (int life = 0; life < 3; life++) {
            long[] pointer = new long[1];
            cuda.ctxPushCurrent(handle);
            cuda.memAlloc(pointer, SIZE);
            cuda.ctxPopCurrent(new long[1]);
            allocator.fill(MemoryRange.ofAddress(pointer[0], SIZE, MemoryKind.CUDA_DEVICE), (byte) 5);
            assertThat(cuda.peek(pointer[0], 10)).containsOnly(5);
            cuda.destroyContext(handle);
            cuda.createContext(0, handle);
        }
    }

    @Test
    void hostMemoryMakesNoContext() {
        try (MemoryAllocation one = allocator.allocate(MemoryKind.HOST, SIZE);
                MemoryAllocation two = allocator.allocate(MemoryKind.HOST_HUGEPAGE, SIZE)) {
            allocator.copy(one.range(), two.range());
            allocator.fill(one.range(), (byte) 1);
            for (MemoryKind kind : MemoryKind.values()) {
                allocator.supports(kind);
            }
            allocator.available(MemoryKind.HOST, 0);
        }
        assertThat(cuda.liveContexts()).isZero();
    }

    @Test
    void primaryContextIsRetainedOnceForAllUsers() {
        CudaAvailability.Available found = cuda.available();
        for (int i = 0; i < 3; i++) {
            try (NativeMemoryAllocator user = new NativeMemoryAllocator(posix, found)) {
                user.allocate(MemoryKind.CUDA_DEVICE, SIZE).close();
                user.allocate(MemoryKind.CUDA_POOL, SIZE).close();
            }
        }
        assertThat(cuda.primaryRetains(0)).isEqualTo(1);
    }

    @Test
    void pinnedMemoryIsPageAlignedZeroAndPinnedForAllContexts() {
        try (MemoryAllocation memory = allocator.allocate(MemoryKind.HOST_PINNED, SIZE)) {
            assertThat(memory.range().address() % posix.pageSize()).isZero();
            assertThat(read(memory.range())).containsOnly(0);
            assertThat(cuda.pinnedBytes()).isGreaterThanOrEqualTo(SIZE);
            CudaPointer pointer = new CudaPointers(cuda).classify(memory.range().address() + SIZE - 1);
            assertThat(pointer.type()).isEqualTo(CudaPointer.Type.PINNED_HOST);
        }
        assertThat(cuda.pinnedBytes()).isZero();
    }

    @Test
    void systemsThatCannotRegisterMemoryAllocateItPinned() {
        cuda.failAlways(CudaFunction.MEM_HOST_REGISTER, Cuda.ERROR_NOT_SUPPORTED);
        try (MemoryAllocation memory = allocator.allocate(MemoryKind.HOST_PINNED, SIZE)) {
            assertThat(read(memory.range())).containsOnly(0);
            assertThat(cuda.pinnedBytes()).isEqualTo(SIZE);
        }
        assertThat(cuda.pinnedBytes()).isZero();
    }

    @ParameterizedTest
    @EnumSource(value = MemoryKind.class, names = {"HOST_PINNED", "HOST_REGISTERED"})
    void pinnedMemoryIsUnmappedThoughItsContextIsLost(MemoryKind kind) {
        FakeCuda lost = new FakeCuda();
        MemoryAllocation memory = new NativeMemoryAllocator(posix, lost.available()).allocate(kind, SIZE);
        lost.die(Cuda.ERROR_ILLEGAL_ADDRESS);
        assertThat(failure(memory::close).error()).isEqualTo(CuFileError.CUDA_DRIVER_ERROR);
        assertThat(posix.leaks()).isEmpty();
    }

    @Test
    void refusedPinningIsOutOfMemory() {
        cuda.refusePinning(true);
        CuFileException failure = failure(() -> allocator.allocate(MemoryKind.HOST_PINNED, SIZE));
        assertThat(failure.error()).isEqualTo(CuFileError.NOMEM_ERROR);
    }

    @ParameterizedTest
    @EnumSource(value = MemoryKind.class, names = {"CUDA_DEVICE", "CUDA_MANAGED", "CUDA_POOL", "CUDA_VMM"})
    void aFullGpuIsOutOfMemory(MemoryKind kind) {
        long size = (64L << 20) + 1;
        CuFileException failure = failure(() -> allocator.allocate(kind, size));
        assertThat(failure.error()).isEqualTo(CuFileError.NOMEM_ERROR);
        assertThat(failure.errno()).hasValue(Errno.ENOMEM);
        assertThat(failure.size()).hasValue(size);
    }

    @ParameterizedTest
    @EnumSource(value = MemoryKind.class, names = {"CUDA_DEVICE", "CUDA_MANAGED", "CUDA_POOL", "CUDA_VMM"})
    void aGpuThatIsNotThereIsNotFound(MemoryKind kind) {
        for (int device : new int[]{-1, 2}) {
            assertThat(failure(() -> allocator.allocate(kind, SIZE, device)).error())
                    .isEqualTo(CuFileError.DEVICE_NOT_FOUND);
            assertThat(failure(() -> allocator.available(kind, device)).error())
                    .isEqualTo(CuFileError.DEVICE_NOT_FOUND);
        }
    }

    @Test
    void availableMemoryShrinksWithAllocations() {
        assertThat(allocator.available(MemoryKind.CUDA_DEVICE, 1)).isEqualTo(64L << 20);
        try (MemoryAllocation memory = allocator.allocate(MemoryKind.CUDA_POOL, SIZE, 1)) {
            assertThat(memory.isOpen()).isTrue();
            assertThat(allocator.available(MemoryKind.CUDA_DEVICE, 1)).isEqualTo((64L << 20) - SIZE);
        }
    }

    @ParameterizedTest
    @EnumSource(value = CudaFunction.class, names = "CTX_POP_CURRENT", mode = EnumSource.Mode.EXCLUDE)
    void failureOfAnyDriverCallLeaksNothing(CudaFunction function) {
        for (MemoryKind kind : MemoryKind.values()) {
            cuda.fail(function, 1, Cuda.ERROR_OUT_OF_MEMORY);
            try (MemoryAllocation memory = allocator.allocate(kind, SIZE)) {
                cuda.heal();
                assertThat(memory.range().length()).isEqualTo(SIZE);
            } catch (CuFileException e) {
                assertThat(e.error()).isIn(CuFileError.NOMEM_ERROR, CuFileError.CUDA_MEMORY_TYPE_INVALID);
            }
            cuda.heal();
        }
    }

    @Test
    void copiesThatFailOnTheirWayAreReportedAndLeaveTheStreamUsable() {
        try (MemoryAllocation memory = allocator.allocate(MemoryKind.CUDA_DEVICE, SIZE)) {
            cuda.failDeferred(1, Cuda.ERROR_ILLEGAL_ADDRESS);
            CuFileException failure = failure(() -> allocator.fill(memory.range(), (byte) 1));
            assertThat(failure.error()).isEqualTo(CuFileError.CUDA_DRIVER_ERROR);
            assertThat(failure).hasMessageContaining("CUDA_ERROR_ILLEGAL_ADDRESS");
            allocator.fill(memory.range(), (byte) 2);
            assertThat(read(memory.range())).containsOnly(2);
        }
    }

    @Test
    void unknownAddressIsInvalid() {
        MemoryRange range = MemoryRange.ofAddress(0x1000, 8, MemoryKind.CUDA_DEVICE);
        assertThat(failure(() -> allocator.fill(range, (byte) 1)).error())
                .isEqualTo(CuFileError.CUDA_POINTER_INVALID);
    }

    @ParameterizedTest
    @EnumSource(MemoryKind.class)
    void closingAfterTheDriverHasShutDownIsQuiet(MemoryKind kind) {
        FakeCuda shutDown = new FakeCuda();
        NativeMemoryAllocator late = new NativeMemoryAllocator(posix, shutDown.available());
        MemoryAllocation memory = late.allocate(kind, SIZE);
        shutDown.deinitialize();
        memory.close();
        memory.close();
        late.close();
        assertThat(memory.isOpen()).isFalse();
    }

    @Test
    void mappedMemoryIsUndoneInReverseOrderWhenItsLastStepFails() {
        cuda.fail(CudaFunction.MEM_SET_ACCESS, 1, Cuda.ERROR_OUT_OF_MEMORY);
        assertThat(failure(() -> allocator.allocate(MemoryKind.CUDA_VMM, SIZE)).error())
                .isEqualTo(CuFileError.NOMEM_ERROR);
        assertThat(cuda.calls(CudaFunction.MEM_UNMAP)).isEqualTo(1);
        assertThat(cuda.calls(CudaFunction.MEM_RELEASE)).isEqualTo(1);
        assertThat(cuda.calls(CudaFunction.MEM_ADDRESS_FREE)).isEqualTo(1);
    }

    @Test
    void mappedMemoryDoesWithoutRdmaWhereTheSystemRefusesIt() {
        cuda.fail(CudaFunction.MEM_CREATE, 1, Cuda.ERROR_NOT_PERMITTED);
        try (MemoryAllocation memory = allocator.allocate(MemoryKind.CUDA_VMM, SIZE)) {
            allocator.fill(memory.range(), (byte) 1);
        }
        assertThat(cuda.calls(CudaFunction.MEM_CREATE)).isEqualTo(2);
    }

    @Test
    void failedGrowthChangesNothing() {
        try (GrowableMemory memory = allocator.growable(8 << 20, 0)) {
            allocator.fill(memory.allocation().range(), (byte) 9);
            long before = memory.allocation().range().length();
            for (CudaFunction step : new CudaFunction[]{CudaFunction.MEM_CREATE, CudaFunction.MEM_MAP,
                    CudaFunction.MEM_SET_ACCESS}) {
                cuda.fail(step, 1, Cuda.ERROR_OUT_OF_MEMORY);
                assertThat(failure(() -> memory.grow(8 << 20)).error()).isEqualTo(CuFileError.NOMEM_ERROR);
                assertThat(memory.allocation().range().length()).isEqualTo(before);
                assertThat(read(memory.allocation().range())).containsOnly(9);
            }
            assertThat(memory.grow(8 << 20).range().length()).isEqualTo(8 << 20);
        }
        assertThat(allocator.usage().get(MemoryKind.CUDA_VMM).bytes()).isZero();
    }

    @ParameterizedTest
    @EnumSource(MemoryKind.class)
    void foreignPointersAreClassifiedByOneCall(MemoryKind kind) {
        try (MemoryAllocation memory = allocator.allocate(kind, SIZE)) {
            long all = cuda.calls(CudaFunction.POINTER_GET_ATTRIBUTES);
            long single = cuda.calls(CudaFunction.POINTER_GET_ATTRIBUTE);
            assertThat(allocator.wrap(memory.range().address() + 10, 20).length()).isEqualTo(20);
            assertThat(cuda.calls(CudaFunction.POINTER_GET_ATTRIBUTES)).isEqualTo(all + 1);
            assertThat(cuda.calls(CudaFunction.POINTER_GET_ATTRIBUTE)).isEqualTo(single);
        }
    }

    @Test
    void synchronousCopiesAreMadeToWaitOncePerAllocation() {
        try (MemoryAllocation memory = allocator.allocate(MemoryKind.CUDA_VMM, 1 << 20)) {
            for (int round = 0; round < 3; round++) {
                allocator.exportDmaBuf(memory.range().slice(round * 4096L, 4096)).close();
            }
        }
        assertThat(cuda.calls(CudaFunction.POINTER_SET_ATTRIBUTE)).isOne();
        assertThat(cuda.calls(CudaFunction.MEM_GET_HANDLE_FOR_ADDRESS_RANGE)).isEqualTo(3);
    }

    @Test
    void copiesFromAndToEachMappingOfAnExportWait() {
        try (GrowableMemory memory = allocator.growable(8 << 20, 0)) {
            long seam = memory.allocation().range().length();
            memory.grow(8 << 20);
            MemoryRange all = memory.allocation().range();
            MemoryRange told = MemoryRange.ofAddress(all.address(), all.length(), MemoryKind.CUDA_DEVICE);
            allocator.exportDmaBuf(told).close();
            assertThat(cuda.synced()).containsExactlyInAnyOrder(all.address(), all.address() + seam);
            cuda.fail(CudaFunction.MEM_GET_HANDLE_FOR_ADDRESS_RANGE, 1, Cuda.ERROR_INVALID_VALUE);
            CuFileException refused = failure(() -> allocator.exportDmaBuf(all));
            assertThat(refused.error()).isEqualTo(CuFileError.IO_NOT_SUPPORTED);
            assertThat(refused.detail()).contains("export the first " + seam + " bytes");
        }
    }

    @Test
    void driverWithoutDmaBufIsTheNamedReason() {
        try (MemoryAllocation memory = allocator.allocate(MemoryKind.CUDA_VMM, 1 << 20)) {
            cuda.fail(CudaFunction.MEM_GET_HANDLE_FOR_ADDRESS_RANGE, 1, Cuda.ERROR_NOT_SUPPORTED);
            assertThat(failure(() -> allocator.exportDmaBuf(memory.range())).error())
                    .isEqualTo(CuFileError.IO_NOT_SUPPORTED);
            cuda.fail(CudaFunction.DEVICE_GET_ATTRIBUTE, 1, Cuda.ERROR_INVALID_VALUE);
            assertThat(failure(() -> allocator.exportDmaBuf(memory.range())).detail()).contains("open kernel modules");
            cuda.fail(CudaFunction.MEM_GET_HANDLE_FOR_ADDRESS_RANGE, 1, Cuda.ERROR_ILLEGAL_ADDRESS);
            assertThat(failure(() -> allocator.exportDmaBuf(memory.range())).error())
                    .isEqualTo(CuFileError.CUDA_DRIVER_ERROR);
        }
    }

    @Test
    void memoryThatCannotBePinnedIsAnErrorAndStaysTheProgramsOwn() {
        cuda.refusePinning(true);
        try (Arena arena = Arena.ofShared()) {
            MemorySegment segment = arena.allocate(4096, 4096);
            assertThat(failure(() -> allocator.pin(segment)).error()).isEqualTo(CuFileError.NOMEM_ERROR);
            segment.fill((byte) 1);
        }
        assertThat(failure(() -> allocator.allocate(MemoryKind.HOST_REGISTERED, SIZE)).error())
                .isEqualTo(CuFileError.NOMEM_ERROR);
    }

    @Test
    void threadsCopyAtTheSameTimeInStreamsThatAreMadeOnce() throws InterruptedException {
        byte[] bytes = random(SIZE);
        allocator.allocate(MemoryKind.CUDA_DEVICE, SIZE).close();
        long made = cuda.calls(CudaFunction.STREAM_CREATE);
        List<Throwable> thrown = Collections.synchronizedList(new ArrayList<>());
        List<Thread> threads = new ArrayList<>();
        for (int t = 0; t < 40; t++) {
            threads.add(Thread.ofPlatform().start(() -> {
                try {
                    for (int i = 0; i < 20; i++) {
                        try (MemoryAllocation memory = allocator.allocate(MemoryKind.CUDA_DEVICE, SIZE)) {
                            allocator.copyFromHost(MemorySegment.ofArray(bytes), memory.range());
                            assertThat(read(memory.range())).isEqualTo(bytes);
                        }
                    }
                } catch (Throwable e) {
                    thrown.add(e);
                }
            }));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(thrown).isEmpty();
        assertThat(cuda.calls(CudaFunction.STREAM_CREATE)).isEqualTo(made);
    }
}
