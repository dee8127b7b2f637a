package io.gds4j.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.BufferFlag;
import io.gds4j.CuFileBuffer;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.error.CuFileError;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Contract of registering and deregistering memory.
 *
 * @since 0.1
 */
public abstract class BufferContract extends BackendContract {
    private static final int PAGE = 4096;

    /** For subclasses. */
    protected BufferContract() {
    }

    final Stream<MemoryKind> cudaKinds() {
        return kinds().filter(MemoryKind::isCuda);
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void memoryIsRegisteredAndDeregistered(MemoryKind kind) {
        try (MemoryAllocation memory = allocator().allocate(kind, 16 * PAGE)) {
            for (int round = 0; round < 3; round++) {
                CuFileBuffer buffer = driver().registerBuffer(memory.range());
                assertThat(buffer.isOpen()).isTrue();
                assertThat(buffer.range()).isEqualTo(memory.range());
                buffer.close();
                assertThat(buffer.isOpen()).isFalse();
                buffer.close();
            }
        }
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void allocationsAndRangesRegisterByOneName(MemoryKind kind) {
        try (MemoryAllocation memory = allocator().allocate(kind, 2 * PAGE)) {
            try (CuFileBuffer whole = driver().register(memory);
                    CuFileBuffer half = driver().register(memory.slice(PAGE, PAGE))) {
                assertThat(whole.range()).isEqualTo(memory.range());
                assertThat(half.range().length()).isEqualTo(PAGE);
                Failures.expect(CuFileError.MEMORY_ALREADY_REGISTERED, () -> driver().register(memory));
            }
        }
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void memoryFillsAndCopiesItself(MemoryKind kind) {
        MemoryAllocation memory = allocator().allocate(kind, 100);
        byte[] part = new byte[40];
        try (memory) {
            memory.fill(0x1ff);
            assertThat(memory.toByteArray()).hasSize(100).containsOnly(-1);
            memory.copyFrom(new byte[]{1, 2, 3});
            memory.copyTo(MemorySegment.ofArray(part));
            assertThat(part).startsWith(1, 2, 3, -1).endsWith(-1);
            Failures.expect(CuFileError.CUDA_POINTER_RANGE_ERROR, () -> memory.copyFrom(new byte[101]));
            Failures.expect(CuFileError.CUDA_POINTER_RANGE_ERROR,
                    () -> memory.copyTo(MemorySegment.ofArray(new byte[101])));
        }
        Failures.expect(CuFileError.CUDA_POINTER_INVALID, memory::toByteArray);
        Failures.expect(CuFileError.CUDA_POINTER_INVALID, () -> memory.fill(0));
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void segmentsThatCannotBeCopiedAreRefused(MemoryKind kind) {
        try (MemoryAllocation memory = allocator().allocate(kind, 100)) {
            MemorySegment closed;
            try (Arena arena = Arena.ofConfined()) {
                closed = arena.allocate(8);
            }
            MemoryRange gone;
            try (Arena arena = Arena.ofShared()) {
                gone = MemoryRange.ofSegment(arena.allocate(8));
            }
            Failures.expect(CuFileError.CUDA_POINTER_INVALID, () -> memory.copyTo(closed));
            Failures.expect(CuFileError.CUDA_POINTER_INVALID, () -> memory.copyFrom(closed));
            Failures.expect(CuFileError.CUDA_POINTER_INVALID, () -> allocator().fill(gone, (byte) 1));
            Failures.expect(CuFileError.CUDA_POINTER_INVALID, () -> allocator().copy(gone, memory.range()));
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment confined = arena.allocate(8);
                CompletableFuture.runAsync(() -> {
                    Failures.expect(CuFileError.CUDA_POINTER_INVALID, () -> memory.copyTo(confined));
                    Failures.expect(CuFileError.CUDA_POINTER_INVALID, () -> memory.copyFrom(confined));
                }).join();
            }
            MemorySegment constant = MemorySegment.ofArray(new byte[8]).asReadOnly();
            Failures.expect(CuFileError.INVALID_VALUE, () -> memory.copyTo(constant));
            memory.copyFrom(constant);
        }
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void emptyRangeIsRefused(MemoryKind kind) {
        try (MemoryAllocation memory = allocator().allocate(kind, PAGE)) {
            MemoryRange empty = memory.range().slice(10, 0);
            Failures.expect(CuFileError.INVALID_VALUE, () -> driver().registerBuffer(empty));
        }
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void sameBaseTwiceIsRefusedAndTheFirstStays(MemoryKind kind) {
        GuardedFile file = newFile(PAGE);
        try (MemoryAllocation memory = allocator().allocate(kind, 16 * PAGE);
                CuFileHandle handle = driver().openFile(file.path());
                CuFileBuffer first = driver().registerBuffer(memory.range())) {
            Failures.expect(
                    CuFileError.MEMORY_ALREADY_REGISTERED, () -> driver().registerBuffer(memory.range()));
            Failures.expect(
                    CuFileError.MEMORY_ALREADY_REGISTERED,
                    () -> driver().registerBuffer(memory.range().slice(0, PAGE)));
            assertThat(handle.read(first, PAGE, 0, 0)).isEqualTo(PAGE);
        }
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void partsWithDifferentBasesRegisterSeparately(MemoryKind kind) {
        GuardedFile file = newFile(3 * PAGE);
        try (MemoryAllocation memory = allocator().allocate(kind, 16 * PAGE);
                CuFileHandle handle = driver().openFile(file.path())) {
            CuFileBuffer whole = driver().registerBuffer(memory.range());
            CuFileBuffer part = driver().registerBuffer(memory.range().slice(4 * PAGE, 4 * PAGE));
            CuFileBuffer odd = driver().registerBuffer(memory.range().slice(1, PAGE));
            whole.close();
            assertThat(handle.read(part, 3 * PAGE, 0, 0)).isEqualTo(3 * PAGE);
            assertThat(handle.read(odd, PAGE, 0, 0)).isEqualTo(PAGE);
            part.close();
            assertThat(handle.read(odd, PAGE, 1, 0)).isEqualTo(PAGE);
            odd.close();
        }
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void overlappingRegistrationsMoveTheRightBytes(MemoryKind kind) {
        GuardedFile file = newFile(3 * PAGE);
        try (GuardedMemory memory = memory(kind, 12 * PAGE);
                CuFileHandle handle = openToWrite(file, Mode.BUFFERED)) {
            MemoryRange all = memory.range();
            CuFileBuffer first = driver().registerBuffer(all.slice(0, 8 * PAGE));
            CuFileBuffer second = driver().registerBuffer(all.slice(5 * PAGE + 3, 6 * PAGE));
            assertThat(handle.read(first, PAGE, 7, 6 * PAGE)).isEqualTo(PAGE);
            memory.expect(6 * PAGE, file.expected(7, PAGE));
            assertThat(handle.read(second, 3 * PAGE - 9, 9, 1)).isEqualTo(3 * PAGE - 9);
            memory.expect(5 * PAGE + 4, file.expected(9, 3 * PAGE - 9));
            assertThat(handle.read(all.slice(5 * PAGE + 100, 500), 0)).as("plain, inside of both").isEqualTo(500);
            memory.expect(5 * PAGE + 100, file.expected(0, 500));
            first.close();
            assertThat(handle.write(second, 1000, 50, 2 * PAGE)).isEqualTo(1000);
            file.expectWrite(50, memory.expected(7 * PAGE + 3, 1000));
            assertThat(handle.read(all.slice(1, PAGE), 0)).as("plain, where the other was").isEqualTo(PAGE);
            memory.expect(1, file.expected(0, PAGE));
            second.close();
            memory.verify();
        }
        file.verify();
    }

    @ParameterizedTest
    @MethodSource("kindsWithBounds")
    void rangePastItsAllocationIsRefused(MemoryKind kind) {
        if (!kind.isCuda()) {
            try (MemoryAllocation memory = allocator().allocate(kind, PAGE)) {
                Failures.expect(
                        CuFileError.CUDA_POINTER_RANGE_ERROR,
                        () -> driver().registerBuffer(memory.range().slice(0, PAGE + 1)));
            }
            return;
        }
        long size = 4L << 20;
        try (MemoryAllocation memory = allocator().allocate(kind, size)) {
            long base = memory.range().address();
            Failures.expect(
                    CuFileError.CUDA_POINTER_RANGE_ERROR,
                    () -> driver().registerBuffer(MemoryRange.ofAddress(base, size + (64L << 20), kind)));
            Failures.expect(
                    CuFileError.CUDA_POINTER_RANGE_ERROR,
                    () -> driver().registerBuffer(MemoryRange.ofAddress(base + 1, size + (64L << 20), kind)));
            Failures.expect(
                    CuFileError.CUDA_POINTER_RANGE_ERROR,
                    () -> driver().registerBuffer(MemoryRange.ofAddress(base, 1L << 46, kind)));
        }
    }

    @ParameterizedTest(allowZeroInvocations = true)
    @MethodSource("cudaKinds")
    void addressOutsideEveryGpuIsRefused(MemoryKind kind) {
        Failures.expect(
                CuFileError.CUDA_POINTER_INVALID,
                () -> driver().registerBuffer(MemoryRange.ofAddress(PAGE, PAGE, kind)));
    }

    /**
     * Returns the CUDA kinds, whose allocations the driver knows; without any, the kinds whose ranges know their
     * bounds.
     */
    final Stream<MemoryKind> kindsWithBounds() {
        return cudaKinds().findAny().isPresent() ? cudaKinds() : kinds();
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void flagsForRdmaAreAccepted(MemoryKind kind) {
        try (MemoryAllocation memory = allocator().allocate(kind, 16 * PAGE);
                CuFileBuffer buffer = driver().registerBuffer(memory.range(), EnumSet.allOf(BufferFlag.class))) {
            assertThat(buffer.isOpen()).isTrue();
        }
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void freedMemoryIsRefused(MemoryKind kind) {
        MemoryAllocation memory = allocator().allocate(kind, PAGE);
        memory.close();
        Failures.expect(CuFileError.CUDA_POINTER_INVALID, () -> driver().registerBuffer(memory.range()));
    }

    @Test
    void memoryOfAClosedArenaIsRefused() {
        MemoryRange range;
        try (Arena arena = Arena.ofShared()) {
            MemorySegment segment = arena.allocate(PAGE);
            range = MemoryRange.ofSegment(segment);
        }
        Failures.expect(CuFileError.CUDA_POINTER_INVALID, () -> driver().registerBuffer(range));
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void deregisteringUnregisteredMemoryIsRefused(MemoryKind kind) {
        CuFileBackend backend = backend().createBackend(backend().config());
        backend.driverOpen();
        try (MemoryAllocation memory = allocator().allocate(kind, 16 * PAGE)) {
            MemoryRange range = memory.range();
            Failures.expect(CuFileError.MEMORY_NOT_REGISTERED, () -> backend.bufDeregister(range));
            backend.bufRegister(range, 0);
            Failures.expect(
                    CuFileError.MEMORY_NOT_REGISTERED, () -> backend.bufDeregister(range.slice(PAGE, PAGE)));
            backend.bufDeregister(range);
            Failures.expect(CuFileError.MEMORY_NOT_REGISTERED, () -> backend.bufDeregister(range));
        } finally {
            backend.driverClose();
        }
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void registeredMemoryMovesTheRightBytes(MemoryKind kind) {
        GuardedFile file = newFile(100_003);
        try (GuardedMemory memory = GuardedMemory.allocate(allocator(), kind, 50_000, 3, 7);
                CuFileHandle handle = openToWrite(file, Mode.BUFFERED);
                CuFileBuffer buffer = driver().registerBuffer(memory.range())) {
            assertThat(handle.read(buffer, 40_000, 77, 5)).isEqualTo(40_000);
            memory.expect(5, file.expected(77, 40_000));
            memory.verify();
            assertThat(handle.write(buffer, 1_000, 99_999, 123)).isEqualTo(1_000);
            file.expectWrite(99_999, memory.expected(123, 1_000));
            file.verify();
            assertThat(handle.read(memory.range(), 50_000, 0, 0)).isEqualTo(50_000);
            memory.expect(0, file.expected(0, 50_000));
            memory.verify();
        }
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void requestPastTheRegisteredRangeIsRefused(MemoryKind kind) {
        GuardedFile file = newFile(PAGE);
        try (GuardedMemory memory = memory(kind, 2 * PAGE);
                CuFileHandle handle = openToWrite(file, Mode.BUFFERED);
                CuFileBuffer buffer = driver().registerBuffer(memory.range())) {
            Failures.expect(CuFileError.INVALID_MAPPING_RANGE, () -> handle.read(buffer, 2 * PAGE + 1, 0, 0));
            Failures.expect(CuFileError.INVALID_MAPPING_RANGE, () -> handle.read(buffer, PAGE, 0, PAGE + 1));
            Failures.expect(CuFileError.INVALID_MAPPING_RANGE, () -> handle.read(buffer, 0, 0, 2 * PAGE + 1));
            Failures.expect(CuFileError.INVALID_MAPPING_RANGE, () -> handle.write(buffer, PAGE, 0, Long.MAX_VALUE));
            memory.verify();
        }
        file.verify();
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void closedBufferIsRefused(MemoryKind kind) {
        GuardedFile file = newFile(PAGE);
        try (GuardedMemory memory = memory(kind, PAGE);
                CuFileHandle handle = openToWrite(file, Mode.BUFFERED)) {
            CuFileBuffer buffer = driver().registerBuffer(memory.range());
            buffer.close();
            Failures.expect(CuFileError.MEMORY_NOT_REGISTERED, () -> handle.read(buffer, 0));
            Failures.expect(CuFileError.MEMORY_NOT_REGISTERED, () -> handle.write(buffer, 0));
            memory.verify();
        }
        file.verify();
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void memoryCanBeFreedAfterDriverClose(MemoryKind kind) {
        MemoryAllocation memory = allocator().allocate(kind, PAGE);
        try (CuFileDriver driver = newDriver()) {
            driver.registerBuffer(memory.range());
        }
        memory.close();
        assertThat(memory.isOpen()).isFalse();
    }
}
