package io.gds4j.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.Threads;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.lifetime.ThreadState;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

@Timeout(120)
class MemoryRangeTest {
    static Stream<Arguments> badAddresses() {
        return Stream.of(
                Arguments.of(0L, 1L, MemoryKind.HOST, -1, "address is 0"),
                Arguments.of(4096L, -1L, MemoryKind.HOST, -1, "length is negative: -1"),
                Arguments.of(4096L, Long.MIN_VALUE, MemoryKind.HOST, -1, "length is negative"),
                Arguments.of(-1L, 2L, MemoryKind.HOST, -1, "wrap around"),
                Arguments.of(-4096L, 4096L, MemoryKind.CUDA_DEVICE, 0, "wrap around"),
                Arguments.of(4096L, 1L, MemoryKind.CUDA_DEVICE, -1, "CUDA_DEVICE needs a device, got -1"),
                Arguments.of(4096L, 1L, MemoryKind.CUDA_MANAGED, -2, "CUDA_MANAGED needs a device, got -2"));
    }

    @ParameterizedTest
    @MethodSource("badAddresses")
    void impossibleAddressIsRefused(long address, long length, MemoryKind kind, int device, String detail) {
        CuFileException e = catchThrowableOfType(
                CuFileException.class, () -> MemoryRange.ofAddress(address, length, kind, device));

        assertThat(e.error()).isEqualTo(CuFileError.INVALID_VALUE);
        assertThat(e.detail()).contains(detail);
    }

    @Test
    void memoryThatNoAllocatorMadeDoesNotCopyItself() {
        try (MemoryAllocation memory = MemoryAllocation.of(
                MemoryRange.ofAddress(4096, 1L << 40, MemoryKind.CUDA_DEVICE), () -> {})) {
            CuFileException e = catchThrowableOfType(CuFileException.class, () -> memory.fill(0));

            assertThat(e.error()).isEqualTo(CuFileError.CUDA_MEMORY_TYPE_INVALID);
            assertThat(e.function()).isEqualTo("MemoryAllocation.fill");
            assertThatThrownBy(memory::toByteArray).hasMessageContaining("more than an array may have");
        }
    }

    @Test
    void addressAboveTwoToThe63IsValid() {
        MemoryRange range = MemoryRange.ofAddress(0xffff_8000_0000_0000L, 1L << 40, MemoryKind.CUDA_VMM, 3);

        assertThat(range.slice(1, 2).address()).isEqualTo(0xffff_8000_0000_0001L);
        assertThat(range.device()).isEqualTo(3);
        assertThat(range).hasToString("MemoryRange[0xffff800000000000, length=1099511627776, CUDA_VMM, device=3]");
    }

    @ParameterizedTest
    @CsvSource({
            "-1, 1",
            "0, -1",
            "0, 101",
            "100, 1",
            "101, 0",
            "50, 51",
            "9223372036854775807, 1",
            "1, 9223372036854775807",
            "9223372036854775807, 9223372036854775807",
            "-9223372036854775808, 0"
    })
    void sliceOutsideTheRangeIsRefused(long offset, long length) {
        MemoryRange range = MemoryRange.ofAddress(4096, 100, MemoryKind.HOST);

        assertThat(codeOf(() -> range.slice(offset, length))).isEqualTo(CuFileError.CUDA_POINTER_RANGE_ERROR);
    }

    @ParameterizedTest
    @CsvSource({"0, 0", "0, 100", "100, 0", "99, 1", "10, 20"})
    void sliceKeepsKindAndDevice(long offset, long length) {
        MemoryRange slice = MemoryRange.ofAddress(4096, 100, MemoryKind.CUDA_DEVICE).slice(offset, length);

        assertThat(slice).isEqualTo(MemoryRange.ofAddress(4096 + offset, length, MemoryKind.CUDA_DEVICE, 0));
    }

    @Test
    void segmentIsWrappedWithItsScope() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment segment = arena.allocate(64);
            MemoryRange range = MemoryRange.ofSegment(segment);

            assertThat(range.kind()).isEqualTo(MemoryKind.HOST);
            assertThat(range.device()).isEqualTo(MemoryRange.NO_DEVICE);
            assertThat(range.owner()).isEmpty();
            assertThat(range.slice(8, 16).segment()).contains(segment.asSlice(8, 16));
            assertThat(MemoryRange.ofSegment(segment, MemoryKind.HOST_PINNED).kind())
                    .isEqualTo(MemoryKind.HOST_PINNED);
        }
    }

    @Test
    void segmentsWithoutAnAddressAreRefused() {
        MemorySegment closed;
        try (Arena arena = Arena.ofConfined()) {
            closed = arena.allocate(8);
        }

        assertThat(codeOf(() -> MemoryRange.ofSegment(MemorySegment.ofArray(new byte[8]))))
                .isEqualTo(CuFileError.CUDA_MEMORY_TYPE_INVALID);
        assertThat(codeOf(() -> MemoryRange.ofSegment(MemorySegment.NULL))).isEqualTo(CuFileError.INVALID_VALUE);
        assertThat(codeOf(() -> MemoryRange.ofSegment(closed))).isEqualTo(CuFileError.CUDA_POINTER_INVALID);
        assertThat(codeOf(() -> MemoryRange.ofSegment(MemorySegment.ofAddress(8), MemoryKind.CUDA_DEVICE)))
                .isEqualTo(CuFileError.INVALID_VALUE);
    }

    @Test
    void readOnlySegmentIsNotWritable() {
        MemorySegment segment = Arena.ofAuto().allocate(8);

        assertThat(MemoryRange.ofSegment(segment).isWritable()).isTrue();
        assertThat(MemoryRange.ofSegment(segment.asReadOnly()).isWritable()).isFalse();
    }

    @Test
    void segmentOfAClosableArenaDoesNotOutliveACall() {
        try (Arena shared = Arena.ofShared();
                Arena confined = Arena.ofConfined();
                MemoryAllocation allocation =
                        MemoryAllocation.of(MemoryRange.ofSegment(shared.allocate(8)), () -> {
                        })) {
            assertThat(MemoryRange.ofSegment(Arena.global().allocate(8)).outlivesCall()).isTrue();
            assertThat(MemoryRange.ofSegment(Arena.ofAuto().allocate(8)).outlivesCall()).isTrue();
            assertThat(MemoryRange.ofAddress(4096, 1, MemoryKind.HOST).outlivesCall()).isTrue();
            assertThat(allocation.range().outlivesCall()).isTrue();
            assertThat(MemoryRange.ofSegment(shared.allocate(8)).outlivesCall()).isFalse();
            assertThat(MemoryRange.ofSegment(confined.allocate(8)).outlivesCall()).isFalse();
        }
    }

    @Test
    void memoryOfAClosedArenaCannotBeUsed() {
        MemoryRange range;
        try (Arena arena = Arena.ofShared()) {
            range = MemoryRange.ofSegment(arena.allocate(8));
            range.retain();
            range.release();
        }

        assertThat(codeOf(range::retain)).isEqualTo(CuFileError.CUDA_POINTER_INVALID);
        assertThat(codeOf(() -> range.enter(ThreadState.current()))).isEqualTo(CuFileError.CUDA_POINTER_INVALID);
        assertThat(codeOf(range::claim)).isEqualTo(CuFileError.CUDA_POINTER_INVALID);
    }

    @Test
    void confinedMemoryCannotBeUsedByAnotherThread() throws Exception {
        try (Arena arena = Arena.ofConfined();
                Threads threads = new Threads()) {
            MemoryRange range = MemoryRange.ofSegment(arena.allocate(8));
            range.retain();
            range.release();

            assertThat(threads.start(() -> codeOf(range::retain)).get(60, TimeUnit.SECONDS))
                    .isEqualTo(CuFileError.CUDA_POINTER_INVALID);
        }
    }

    @Test
    void freeWaitsUntilTheMemoryIsReleased() throws Exception {
        AtomicInteger freed = new AtomicInteger();
        MemoryAllocation allocation = allocation(freed);
        MemoryRange slice = allocation.range().slice(1, 2);
        slice.retain();
        try (Threads threads = new Threads()) {
            Future<Void> closer = threads.run(allocation::close);
            threads.awaitParked();
            assertThat(freed).hasValue(0);
            slice.release();
            closer.get(60, TimeUnit.SECONDS);
        }
        assertThat(freed).hasValue(1);
        assertThat(allocation.isOpen()).isFalse();
        assertThat(codeOf(slice::retain)).isEqualTo(CuFileError.CUDA_POINTER_INVALID);
        allocation.close();
        assertThat(freed).hasValue(1);
    }

    @Test
    void claimedMemoryIsNotFreed() {
        AtomicInteger freed = new AtomicInteger();
        MemoryAllocation allocation = allocation(freed);
        allocation.range().claim();

        assertThatThrownBy(allocation::close)
                .isInstanceOf(CuFileException.class)
                .hasMessageStartingWith("MemoryAllocation.close: HOST memory of 16 bytes: it is claimed");
        assertThat(freed).hasValue(0);

        allocation.range().unclaim();
        allocation.close();
        assertThat(freed).hasValue(1);
    }

    @Test
    void allocationOwnsItsRanges() {
        AtomicInteger freed = new AtomicInteger();
        try (MemoryAllocation allocation = allocation(freed)) {
            assertThat(allocation.range().owner()).containsSame(allocation);
            assertThat(allocation.range().slice(0, 1).owner()).containsSame(allocation);
            assertThat(allocation.toString()).contains("length=16").endsWith("open]");
        }
        assertThat(freed).hasValue(1);
    }

    private static MemoryAllocation allocation(AtomicInteger freed) {
        return MemoryAllocation.of(MemoryRange.ofSegment(Arena.ofAuto().allocate(16)), freed::incrementAndGet);
    }

    private static CuFileError codeOf(ThrowingCallable call) {
        return catchThrowableOfType(CuFileException.class, call).error();
    }
}
