package io.gds4j.engine.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaPointer;
import io.gds4j.ffi.cuda.CudaPointers;
import io.gds4j.ffi.cuda.GpuCapabilities;
import io.gds4j.ffi.posix.FaultyPosix;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.internal.memory.MemoryAccess;
import io.gds4j.memory.AllocationTag;
import io.gds4j.memory.DmaBuf;
import io.gds4j.memory.GrowableMemory;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.MemoryUsage;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** The contract of memory of every kind, for the double and for a GPU. */
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

    @Test
    void streamIsAwaitedInItsContext() {
        CudaContexts contexts = new CudaContexts(cuda);
        long[] stream = new long[1];
        contexts.in(contexts.primary(0), () -> cuda.streamCreate(stream, Cuda.STREAM_NON_BLOCKING));
        try {
            allocator.awaitStream(stream[0]);
            assertThatThrownBy(() -> allocator.awaitStream(-5)).hasMessageContaining("is no CUDA stream");
        } finally {
            contexts.in(contexts.primary(0), () -> cuda.streamDestroy(stream[0]));
        }
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
    void rowsAreGatheredIntoTheHostAndBack(MemoryKind kind) {
        byte[] bytes = random(70);
        try (MemoryAllocation memory = allocator.allocate(kind, 70);
                MemoryAllocation host = allocator.allocate(MemoryKind.HOST, 40)) {
            allocator.copyFromHost(MemorySegment.ofArray(bytes), memory.range());
            allocator.copyRows(memory.range(), 30, host.range(), 15, 8, 3);
            for (int row = 0; row < 3; row++) {
                assertThat(read(host.range().slice(row * 15L, 8)))
                        .isEqualTo(Arrays.copyOfRange(bytes, row * 30, row * 30 + 8));
            }
            allocator.copyRows(host.range(), 15, memory.range().slice(1, 69), 10, 8, 3);
            assertThat(read(memory.range().slice(21, 8))).isEqualTo(Arrays.copyOfRange(bytes, 60, 68));
        }
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

    /** Larger than a staged piece. With one GPU the second round repeats the first. */
    @ParameterizedTest
    @MethodSource("pairs")
    void everyKindIsCopiedToEveryKindOnOneAndTwoGpus(MemoryKind from, MemoryKind to) {
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
    @MethodSource("pairs")
    void rowsOfEveryKindAreCopiedToEveryKindOnOneAndTwoGpus(MemoryKind from, MemoryKind to) {
        int width = 301;
        int rows = 37;
        int fromPitch = 333;
        int toPitch = 512;
        byte[] bytes = random(rows * fromPitch);
        byte[] expected = new byte[rows * toPitch];
        Arrays.fill(expected, (byte) 9);
        for (int row = 0; row < rows; row++) {
            System.arraycopy(bytes, row * fromPitch, expected, row * toPitch, width);
        }
        for (int device : new int[]{0, lastDevice()}) {
            try (MemoryAllocation source = allocator.allocate(from, bytes.length, 0);
                    MemoryAllocation target = allocator.allocate(to, expected.length + 1, device)) {
                allocator.copyFromHost(MemorySegment.ofArray(bytes), source.range());
                allocator.fill(target.range(), (byte) 9);
                MemoryRange odd = target.range().slice(1, expected.length);
                allocator.copyRows(source.range(), fromPitch, odd, toPitch, width, rows);
                assertThat(read(odd)).isEqualTo(expected);
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
    void callersContextIsCurrentAgainAfterwards(MemoryKind kind) {
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
    void firstCallOfAThreadLeavesNoContext(MemoryKind kind) throws InterruptedException {
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
            try (MemoryAllocation allocated = allocator.allocate(kind, SIZE, lastDevice())) {
                allocator.copy(range, allocated.range());
                assertThat(read(allocated.range())).as("from another context to " + kind).isEqualTo(bytes);
                allocator.fill(range, (byte) 0);
                allocator.copy(allocated.range(), range);
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
    void driverKnowsItsAllocations(MemoryKind kind) {
        try (MemoryAllocation memory = allocator.allocate(kind, SIZE)) {
            CudaPointer found = new CudaPointers(cuda).classify(memory.range().address() + 1000);
            assertThat(found.type()).isEqualTo(switch (kind) {
                case HOST, HOST_HUGEPAGE -> CudaPointer.Type.UNKNOWN;
                case HOST_PINNED, HOST_REGISTERED -> CudaPointer.Type.PINNED_HOST;
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

    @ParameterizedTest
    @EnumSource(MemoryKind.class)
    void foreignMemoryIsWrappedByKindUpToItsEnd(MemoryKind kind) {
        try (MemoryAllocation memory = allocator.allocate(kind, SIZE)) {
            MemoryRange wrapped = allocator.wrap(memory.range().address() + 1000, 5000);
            assertThat(wrapped.kind()).isEqualTo(switch (kind) {
                case HOST, HOST_HUGEPAGE -> MemoryKind.HOST;
                case HOST_PINNED, HOST_REGISTERED -> MemoryKind.HOST_PINNED;
                case CUDA_DEVICE, CUDA_MANAGED, CUDA_POOL, CUDA_VMM -> kind;
            });
            assertThat(wrapped.device()).isEqualTo(memory.range().device());
            assertThat(wrapped.address()).isEqualTo(memory.range().address() + 1000);
            assertThat(wrapped.owner()).isEmpty();
            allocator.fill(wrapped, (byte) 5);
            assertThat(read(memory.range().slice(1000, 5000))).containsOnly(5);
            if (kind != MemoryKind.HOST && kind != MemoryKind.HOST_HUGEPAGE) {
                CuFileException failure = catchThrowableOfType(
                        CuFileException.class, () -> allocator.wrap(memory.range().address(), 1L << 40));
                assertThat(failure.error()).isEqualTo(CuFileError.CUDA_POINTER_RANGE_ERROR);
            }
        }
    }

    @Test
    void programsOwnMemoryIsPinnedOnceAndReleased() {
        try (Arena arena = Arena.ofShared()) {
            MemorySegment segment = arena.allocate(1 << 20, posix.pageSize());
            MemoryAllocation pinned = allocator.pin(segment);
            assertThat(pinned.range().kind()).isEqualTo(MemoryKind.HOST_REGISTERED);
            assertThat(new CudaPointers(cuda).classify(segment.address()).type())
                    .isEqualTo(CudaPointer.Type.PINNED_HOST);
            CuFileException twice = catchThrowableOfType(CuFileException.class, () -> allocator.pin(segment));
            assertThat(twice.error()).isEqualTo(CuFileError.MEMORY_ALREADY_REGISTERED);
            try (MemoryAllocation device = allocator.allocate(MemoryKind.CUDA_DEVICE, 1 << 20)) {
                segment.fill((byte) 3);
                allocator.copy(pinned.range(), device.range());
                assertThat(read(device.range())).containsOnly(3);
            }
            pinned.close();
            assertThat(new CudaPointers(cuda).classify(segment.address()).type()).isEqualTo(CudaPointer.Type.UNKNOWN);
            allocator.pin(segment).close();
        }
        CuFileException empty =
                catchThrowableOfType(CuFileException.class, () -> allocator.pin(Arena.global().allocate(0)));
        assertThat(empty.error()).isEqualTo(CuFileError.INVALID_VALUE);
    }

    @Test
    void managedMemoryIsPrefetchedBothWaysAndKeepsItsBytes() {
        byte[] bytes = random(5_000_000);
        try (MemoryAllocation memory = allocator.allocate(MemoryKind.CUDA_MANAGED, bytes.length);
                MemoryAllocation device = allocator.allocate(MemoryKind.CUDA_DEVICE, 10)) {
            allocator.copyFromHost(MemorySegment.ofArray(bytes), memory.range());
            allocator.prefetch(memory.range(), lastDevice());
            allocator.prefetch(memory.range().slice(4096, 8192), MemoryRange.NO_DEVICE);
            allocator.prefetch(memory.range().slice(0, 0), 0);
            assertThat(read(memory.range())).isEqualTo(bytes);
            CuFileException other =
                    catchThrowableOfType(CuFileException.class, () -> allocator.prefetch(device.range(), 0));
            assertThat(other.error()).isEqualTo(CuFileError.CUDA_MEMORY_TYPE_INVALID);
            CuFileException nowhere = catchThrowableOfType(
                    CuFileException.class, () -> allocator.prefetch(memory.range(), available().deviceCount()));
            assertThat(nowhere.error()).isEqualTo(CuFileError.DEVICE_NOT_FOUND);
        }
    }

    @ParameterizedTest
    @EnumSource(MemoryKind.class)
    void everyKindFillsAndCopiesItself(MemoryKind kind) {
        byte[] bytes = random(SIZE);
        try (MemoryAllocation memory = allocator.allocate(kind, SIZE)) {
            memory.fill(7);
            assertThat(memory.toByteArray()).hasSize((int) SIZE).containsOnly(7);
            memory.copyFrom(bytes);
            assertThat(memory.toByteArray()).isEqualTo(bytes);
        }
    }

    @Test
    void memoryThatGrewFillsAndCopiesItself() {
        try (GrowableMemory memory = allocator.growable(SIZE, 0)) {
            memory.allocation().fill(5);
            assertThat(memory.allocation().toByteArray()).containsOnly(5);
        }
    }

    @Test
    void memoryGrowsWhereItIsAndKeepsItsBytes() {
        long maximum = 12 << 20;
        GrowableMemory closed;
        try (GrowableMemory memory = allocator.growable(maximum, 0)) {
            closed = memory;
            MemoryRange first = memory.allocation().range();
            assertThat(first.length()).isBetween(1L, maximum);
            byte[] bytes = random(SIZE);
            allocator.copyFromHost(MemorySegment.ofArray(bytes), first.slice(0, SIZE));

            MemoryRange second = memory.grow(5 << 20).range();

            assertThat(second.address()).isEqualTo(first.address());
            assertThat(second.length()).isBetween(5L << 20, maximum);
            assertThat(read(second.slice(0, SIZE))).isEqualTo(bytes);
            allocator.fill(second.slice(second.length() - 10, 10), (byte) 7);
            assertThat(read(second.slice(second.length() - 10, 10))).containsOnly(7);
            assertThat(failureOf(() -> allocator.fill(first, (byte) 0))).isEqualTo(CuFileError.CUDA_POINTER_INVALID);

            assertThat(failureOf(() -> memory.grow(second.length()))).isEqualTo(CuFileError.INVALID_VALUE);
            assertThat(failureOf(() -> memory.grow(maximum + 1))).isEqualTo(CuFileError.INVALID_VALUE);
            MemoryAccess.USES.claim(second); // as a registration does
            assertThat(failureOf(() -> memory.grow(maximum))).isEqualTo(CuFileError.IO_NOT_SUPPORTED);
            assertThat(failureOf(memory::close)).isEqualTo(CuFileError.IO_NOT_SUPPORTED);
            MemoryAccess.USES.unclaim(second);
            MemoryRange all = memory.grow(maximum).range();
            assertThat(all.length()).isEqualTo(maximum);
            assertThat(read(all.slice(0, SIZE))).isEqualTo(bytes);
        }
        assertThat(failureOf(() -> closed.grow(maximum))).isEqualTo(CuFileError.CUDA_POINTER_INVALID);
        assertThat(failureOf(() -> allocator.growable(0, 0))).isEqualTo(CuFileError.INVALID_VALUE);
        assertThat(failureOf(() -> allocator.growable(1, available().deviceCount())))
                .isEqualTo(CuFileError.DEVICE_NOT_FOUND);
    }

    private static CuFileError failureOf(Runnable call) {
        return catchThrowableOfType(CuFileException.class, call::run).error();
    }

    @Test
    void bytesAreBookedKindByKindUntilTheyAreFreed() {
        NativeMemoryAllocator fresh = new NativeMemoryAllocator(posix, available());
        assertThat(fresh.usage()).isEmpty();
        MemoryAllocation one = fresh.allocate(MemoryKind.CUDA_DEVICE, 1000);
        MemoryAllocation two = fresh.allocate(MemoryKind.CUDA_DEVICE, 500);
        MemoryAllocation host = fresh.allocate(MemoryKind.HOST, 77);
        one.close();
        one.close();
        assertThat(fresh.usage()).containsOnly(
                Map.entry(MemoryKind.CUDA_DEVICE, new MemoryUsage(1, 500, 1500, 1500)),
                Map.entry(MemoryKind.HOST, new MemoryUsage(1, 77, 77, 77)));
        two.close();
        host.close();
        assertThat(fresh.usage().get(MemoryKind.CUDA_DEVICE)).isEqualTo(new MemoryUsage(0, 0, 1500, 1500));
        fresh.close();
    }

    @ParameterizedTest
    @EnumSource(value = MemoryKind.class, names = {"CUDA_DEVICE", "CUDA_VMM"})
    void gpuMemoryIsExportedAsADmaBufThatIsClosedOnce(MemoryKind kind) {
        assumeTrue(GpuCapabilities.of(cuda, 0).dmaBuf(), "no dma-buf here");
        try (MemoryAllocation memory = allocator.allocate(kind, 4 << 20)) {
            MemoryRange range = memory.range();
            long page = posix.pageSize();
            long lead = (page - range.address() % page) % page;
            for (long[] part : new long[][]{{0, 1 << 20}, {page, page}, {100, 1}, {page - 1, page + 2}}) {
                MemoryRange exported = range.slice(lead + part[0], part[1]);
                DmaBuf buffer = allocator.exportDmaBuf(exported);
                assertThat(buffer.fd()).isPositive();
                assertThat(buffer.offset()).isEqualTo(part[0] % page);
                assertThat(buffer.length()).isEqualTo(part[1]);
                assertThat(buffer.size()).isGreaterThanOrEqualTo(buffer.offset() + buffer.length());
                assertThat(posix.lseek(buffer.fd(), 0, PosixConstants.SEEK_END)).isEqualTo(buffer.size());
                assertThat(failureOf(memory::close)).isEqualTo(CuFileError.IO_NOT_SUPPORTED);
                buffer.close();
                buffer.close();
                assertThat(posix.lseek(buffer.fd(), 0, PosixConstants.SEEK_END)).isEqualTo(-Errno.EBADF);
            }
            assertThat(failureOf(() -> allocator.exportDmaBuf(range.slice(0, 0))))
                    .isEqualTo(CuFileError.INVALID_VALUE);
            MemoryRange past = MemoryRange.ofAddress(range.address() + lead, 64L << 20, kind);
            if (kind == MemoryKind.CUDA_DEVICE) {
                assertThat(failureOf(() -> allocator.exportDmaBuf(past)))
                        .isEqualTo(CuFileError.CUDA_POINTER_RANGE_ERROR);
            }
        }
    }

    /** The driver knows each mapping of memory that grew alone: an export holds all of them. */
    @Test
    void memoryThatGrewIsExportedAcrossItsMappings() {
        assumeTrue(GpuCapabilities.of(cuda, 0).dmaBuf(), "no dma-buf here");
        try (GrowableMemory memory = allocator.growable(64L << 20, 0)) {
            MemoryRange before = memory.allocation().range();
            allocator.exportDmaBuf(before).close();
            long seam = before.length();
            memory.grow(48L << 20);
            MemoryRange all = memory.allocation().range();
            for (MemoryRange part : List.of(
                    all, all.slice(seam - 4096, 8192), all.slice(seam - 5, 10), all.slice(seam, 1 << 20))) {
                try (DmaBuf buffer = allocator.exportDmaBuf(part)) {
                    assertThat(buffer.length()).isEqualTo(part.length());
                    assertThat(buffer.offset()).isEqualTo(part.address() % posix.pageSize());
                    assertThat(buffer.size()).isGreaterThanOrEqualTo(buffer.offset() + buffer.length());
                }
            }
            MemoryRange past = MemoryRange.ofAddress(all.address(), all.length() + 4096, MemoryKind.CUDA_VMM);
            // Driver 580 has a range for addresses that are only reserved, and refuses their export itself.
            assertThat(failureOf(() -> allocator.exportDmaBuf(past)))
                    .isIn(CuFileError.CUDA_POINTER_RANGE_ERROR, CuFileError.CUDA_DRIVER_ERROR);
        }
    }

    @ParameterizedTest
    @EnumSource(value = MemoryKind.class, names = {"CUDA_DEVICE", "CUDA_VMM"}, mode = EnumSource.Mode.EXCLUDE)
    void otherMemoryIsNotExportedAndTheRefusalSaysWhy(MemoryKind kind) {
        try (MemoryAllocation memory = allocator.allocate(kind, SIZE)) {
            CuFileException refused =
                    catchThrowableOfType(CuFileException.class, () -> allocator.exportDmaBuf(memory.range()));
            assertThat(refused.error()).isEqualTo(CuFileError.CUDA_MEMORY_TYPE_INVALID);
            assertThat(refused.detail()).contains(switch (kind) {
                case CUDA_MANAGED -> "managed";
                case CUDA_POOL -> "pool";
                default -> "host";
            });
        }
    }

    @Test
    void writesOfOtherDevicesAreFlushedWhereTheyNeedIt() {
        for (int device = 0; device < available().deviceCount(); device++) {
            GpuCapabilities can = GpuCapabilities.of(cuda, device);
            boolean needed = can.flushFromHost() && can.writesOrdering() != GpuCapabilities.Ordering.ALL_DEVICES;
            assertThat(allocator.flushDeviceWrites(device)).isEqualTo(needed);
        }
        assertThat(failureOf(() -> allocator.flushDeviceWrites(available().deviceCount())))
                .isEqualTo(CuFileError.DEVICE_NOT_FOUND);
    }

    @Test
    void foreignAllocationIsKnownUntilItIsFreed() {
        long context = available().contexts().primary(0);
        long[] pointer = new long[1];
        assertThat(available().contexts().in(context, () -> cuda.memAlloc(pointer, SIZE))).isZero();
        MemoryRange inside = MemoryRange.ofAddress(pointer[0] + 100, 10, MemoryKind.CUDA_DEVICE);
        AllocationTag tag = allocator.allocationOf(inside).orElseThrow();
        assertThat(tag.base()).isEqualTo(pointer[0]);
        assertThat(tag.length()).isEqualTo(SIZE);
        assertThat(allocator.isCurrent(tag)).isTrue();
        assertThat(allocator.isCurrent(new AllocationTag(tag.base(), tag.length(), tag.id() + 1))).isFalse();
        assertThat(available().contexts().in(context, () -> cuda.memFree(pointer[0]))).isZero();
        assertThat(allocator.isCurrent(tag)).isFalse();
        assertThat(allocator.allocationOf(inside)).isEmpty();
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
