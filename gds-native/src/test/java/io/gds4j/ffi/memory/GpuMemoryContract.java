package io.gds4j.ffi.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaPointer;
import io.gds4j.ffi.cuda.CudaPointers;
import io.gds4j.ffi.posix.FaultyPosix;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** What memory of every kind does, over the double and over a GPU. */
abstract class GpuMemoryContract {
    static final long SIZE = 100_003;

    final FaultyPosix posix = new FaultyPosix(FfmPosix.instance());
    final Cuda cuda = available().driver();
    final NativeMemoryAllocator allocator = new NativeMemoryAllocator(posix, available());

    /** The driver under test, the same for all calls on one object. */
    abstract CudaAvailability.Available available();

    /** {@code cuCtxCreate}; not current afterwards. */
    abstract long createContext(int device);

    /** {@code cuCtxDestroy}. */
    abstract void destroyContext(long context);

    @AfterEach
    void nothingStaysMapped() {
        allocator.close();
        assertThat(posix.leaks()).isEmpty();
    }

    static byte[] random(long size) {
        byte[] bytes = new byte[(int) size];
        new SplittableRandom(size).nextBytes(bytes);
        return bytes;
    }

    byte[] read(MemoryRange range) {
        byte[] bytes = new byte[(int) range.length()];
        allocator.copyToHost(range, MemorySegment.ofArray(bytes));
        return bytes;
    }

    private int lastDevice() {
        return available().deviceCount() - 1;
    }

    long current() {
        long[] context = new long[1];
        assertThat(cuda.ctxGetCurrent(context)).isZero();
        return context[0];
    }

    @ParameterizedTest
    @EnumSource(MemoryKind.class)
    void everyKindIsAllocatedAlignedCopiedFilledAndFreed(MemoryKind kind) {
        assertThat(allocator.supports(kind)).isTrue();
        byte[] bytes = random(SIZE);
        MemoryAllocation memory = allocator.allocate(kind, SIZE);
        MemoryRange range = memory.range();
        assertThat(range.kind()).isEqualTo(kind);
        assertThat(range.length()).isEqualTo(SIZE);
        assertThat(range.address() % 256).isZero();
        assertThat(range.device()).isEqualTo(kind.isCuda() ? 0 : MemoryRange.NO_DEVICE);
        assertThat(range.segment().isPresent()).isEqualTo(kind.isHost());
        allocator.copyFromHost(MemorySegment.ofArray(bytes), range);
        assertThat(read(range)).isEqualTo(bytes);
        allocator.fill(range.slice(7, 1000), (byte) 3);
        assertThat(read(range.slice(7, 1000))).containsOnly(3);
        assertThat(read(range.slice(1007, 5))).isEqualTo(Arrays.copyOfRange(bytes, 1007, 1012));
        memory.close();
        memory.close();
        assertThat(memory.isOpen()).isFalse();
        MemorySegment one = MemorySegment.ofArray(new byte[1]);
        assertThat(catchThrowableOfType(CuFileException.class, () -> allocator.copyToHost(range, one)).error())
                .isEqualTo(CuFileError.CUDA_POINTER_INVALID);
    }

    static Stream<Arguments> pairs() {
        List<Arguments> pairs = new ArrayList<>();
        for (MemoryKind from : MemoryKind.values()) {
            for (MemoryKind to : MemoryKind.values()) {
                pairs.add(Arguments.of(from, to));
            }
        }
        return pairs.stream();
    }

    /** Larger than what is staged at a time; where there is one GPU only, the second round repeats the first. */
    @ParameterizedTest
    @MethodSource("pairs")
    void anyKindIsCopiedToAnyKindOnTheSameAndOnAnotherGpu(MemoryKind from, MemoryKind to) {
        byte[] bytes = random(5_000_000);
        for (int device : new int[]{0, lastDevice()}) {
            try (MemoryAllocation source = allocator.allocate(from, bytes.length, 0);
                    MemoryAllocation target = allocator.allocate(to, bytes.length + 10, device)) {
                allocator.copyFromHost(MemorySegment.ofArray(bytes), source.range());
                allocator.copy(source.range(), target.range().slice(3, bytes.length + 7));
                assertThat(read(target.range().slice(3, bytes.length))).isEqualTo(bytes);
            }
        }
    }

    @ParameterizedTest
    @EnumSource(MemoryKind.class)
    void segmentsOfSharedArenasAreCopiedBothWays(MemoryKind kind) {
        byte[] bytes = random(SIZE);
        try (MemoryAllocation memory = allocator.allocate(kind, SIZE); Arena arena = Arena.ofShared()) {
            MemorySegment segment = arena.allocateFrom(ValueLayout.JAVA_BYTE, bytes);
            allocator.copyFromHost(segment, memory.range());
            MemorySegment out = arena.allocate(SIZE);
            allocator.copyToHost(memory.range(), out);
            assertThat(out.toArray(ValueLayout.JAVA_BYTE)).isEqualTo(bytes);
        }
    }

    @ParameterizedTest
    @EnumSource(MemoryKind.class)
    void theCallersContextIsCurrentAgainAfterwards(MemoryKind kind) {
        long own = createContext(0);
        assertThat(cuda.ctxPushCurrent(own)).isZero();
        try (MemoryAllocation memory = allocator.allocate(kind, SIZE)) {
            assertThat(current()).isEqualTo(own);
            allocator.fill(memory.range(), (byte) 1);
            assertThat(current()).isEqualTo(own);
            assertThat(read(memory.range())).containsOnly(1);
        }
        assertThat(current()).isEqualTo(own);
        cuda.ctxPopCurrent(new long[1]);
        destroyContext(own);
    }

    @ParameterizedTest
    @EnumSource(MemoryKind.class)
    void aThreadWithoutAContextMayDoTheFirstCallAndHasNoneAfterwards(MemoryKind kind) throws InterruptedException {
        List<Object> seen = Collections.synchronizedList(new ArrayList<>());
        Thread.ofPlatform().start(() -> {
            try (MemoryAllocation memory = allocator.allocate(kind, SIZE)) {
                allocator.fill(memory.range(), (byte) 9);
                seen.add(read(memory.range())[(int) SIZE - 1]);
            } catch (RuntimeException | AssertionError e) {
                seen.add(e);
            }
            seen.add(current());
        }).join();
        assertThat(seen).containsExactly((byte) 9, 0L);
    }

    @Test
    void memoryOfAContextOfTheProgramsOwnIsCopiedInThatContext() {
        long own = createContext(lastDevice());
        long[] pointer = new long[1];
        cuda.ctxPushCurrent(own);
        assertThat(cuda.memAlloc(pointer, SIZE)).isZero();
        cuda.ctxPopCurrent(new long[1]);
        assertThat(available().contexts().contextOf(pointer[0], lastDevice())).isEqualTo(own);
        MemoryRange range = MemoryRange.ofAddress(pointer[0], SIZE, MemoryKind.CUDA_DEVICE, lastDevice());
        byte[] bytes = random(SIZE);
        allocator.copyFromHost(MemorySegment.ofArray(bytes), range);
        assertThat(read(range)).isEqualTo(bytes);
        for (MemoryKind kind : MemoryKind.values()) {
            try (MemoryAllocation ours = allocator.allocate(kind, SIZE, lastDevice())) {
                allocator.copy(range, ours.range());
                assertThat(read(ours.range())).as("from another context to " + kind).isEqualTo(bytes);
                allocator.fill(range, (byte) 0);
                allocator.copy(ours.range(), range);
                assertThat(read(range)).as("to another context from " + kind).isEqualTo(bytes);
            }
        }
        destroyContext(own);
    }

    @Test
    void contextsComeAndGoAndTheirStreamsWithThem() {
        for (int life = 0; life < 5; life++) {
            long own = createContext(0);
            long[] pointer = new long[1];
            cuda.ctxPushCurrent(own);
            assertThat(cuda.memAlloc(pointer, SIZE)).isZero();
            cuda.ctxPopCurrent(new long[1]);
            MemoryRange range = MemoryRange.ofAddress(pointer[0], SIZE, MemoryKind.CUDA_DEVICE);
            allocator.fill(range, (byte) life);
            assertThat(read(range)).containsOnly(life);
            destroyContext(own);
        }
    }

    @ParameterizedTest
    @EnumSource(MemoryKind.class)
    void theDriverKnowsWhatItAllocated(MemoryKind kind) {
        try (MemoryAllocation memory = allocator.allocate(kind, SIZE)) {
            CudaPointer found = new CudaPointers(cuda).classify(memory.range().address() + 1000);
            assertThat(found.type()).isEqualTo(switch (kind) {
                case HOST, HOST_HUGEPAGE -> CudaPointer.Type.UNKNOWN;
                case HOST_PINNED -> CudaPointer.Type.PINNED_HOST;
                case CUDA_DEVICE, CUDA_POOL, CUDA_VMM -> CudaPointer.Type.DEVICE;
                case CUDA_MANAGED -> CudaPointer.Type.MANAGED;
            });
            assertThat(found.holds(SIZE - 1000)).isTrue();
            if (kind.isCuda() && kind != MemoryKind.CUDA_MANAGED) {
                assertThat(found.device()).isZero();
            }
        }
    }

    @Test
    void pinnedMemoryIsPageAlignedAndZero() {
        try (MemoryAllocation memory = allocator.allocate(MemoryKind.HOST_PINNED, 3 << 20)) {
            assertThat(memory.range().address() % posix.pageSize()).isZero();
            assertThat(read(memory.range())).containsOnly(0);
        }
    }

    @ParameterizedTest
    @EnumSource(value = MemoryKind.class, names = {"HOST", "HOST_HUGEPAGE"}, mode = EnumSource.Mode.EXCLUDE)
    void aGpuThatIsNotThereIsNotFound(MemoryKind kind) {
        CuFileException failure = catchThrowableOfType(
                CuFileException.class, () -> allocator.allocate(kind, SIZE, available().deviceCount()));
        assertThat(failure.error()).isEqualTo(CuFileError.DEVICE_NOT_FOUND);
    }

    @ParameterizedTest
    @EnumSource(value = MemoryKind.class, names = {"CUDA_DEVICE", "CUDA_POOL", "CUDA_VMM"})
    void moreThanTheGpuHasIsOutOfMemoryAndHarmless(MemoryKind kind) {
        CuFileException failure =
                catchThrowableOfType(CuFileException.class, () -> allocator.allocate(kind, 1L << 42));
        assertThat(failure.error()).isEqualTo(CuFileError.NOMEM_ERROR);
        assertThat(failure.size()).hasValue(1L << 42);
        try (MemoryAllocation memory = allocator.allocate(kind, SIZE)) {
            allocator.fill(memory.range(), (byte) 1);
        }
    }

    @ParameterizedTest
    @EnumSource(MemoryKind.class)
    void manyAllocationsLeaveNothingBehind(MemoryKind kind) {
        allocator.allocate(kind, SIZE).close();
        allocator.allocate(MemoryKind.CUDA_DEVICE, SIZE).close();
        long before = allocator.available(MemoryKind.CUDA_DEVICE, 0);
        for (int i = 0; i < 60; i++) {
            try (MemoryAllocation memory = allocator.allocate(kind, 1 + i * 50_000L)) {
                allocator.fill(memory.range(), (byte) i);
            }
        }
        // The driver keeps small blocks; 60 allocations left behind would be 90 MB.
        assertThat(allocator.available(MemoryKind.CUDA_DEVICE, 0)).isGreaterThan(before - (32L << 20));
    }

    @Test
    void threadsCopyAtTheSameTime() throws InterruptedException {
        byte[] bytes = random(SIZE);
        List<Throwable> thrown = Collections.synchronizedList(new ArrayList<>());
        List<Thread> threads = new ArrayList<>();
        for (int t = 0; t < 4; t++) {
            threads.add(Thread.ofPlatform().start(() -> {
                try {
                    for (int i = 0; i < 20; i++) {
                        MemoryKind kind = MemoryKind.values()[i % MemoryKind.values().length];
                        try (MemoryAllocation memory = allocator.allocate(kind, SIZE)) {
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
    }
}
