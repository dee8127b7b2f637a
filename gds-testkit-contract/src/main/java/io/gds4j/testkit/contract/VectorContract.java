package io.gds4j.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileStatistics;
import io.gds4j.error.CuFileError;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.statistics.OperationCount;
import io.gds4j.statistics.StatisticsLevel1;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Contract of {@code cuFileReadv} and {@code cuFileWritev}: counts, which bytes they change, and what they refuse.
 *
 * @since 0.1
 */
public abstract class VectorContract extends BackendContract {
    private static final int PAGE = 4096;
    private static final int SIZE = 60_000;

    /** For subclasses. */
    protected VectorContract() {
    }

    @BeforeEach
    void backendHasVectors() {
        assumeFalse(backend().unbuiltFunctions().contains("cuFileReadv"), "not built");
    }

    /** Parts of a memory: begin and length, alternating. */
    private static List<MemoryRange> parts(GuardedMemory memory, int... numbers) {
        List<MemoryRange> parts = new ArrayList<>();
        for (int i = 0; i < numbers.length; i += 2) {
            parts.add(memory.range().slice(numbers[i], numbers[i + 1]));
        }
        return parts;
    }

    @ParameterizedTest
    @MethodSource("ways")
    void rangesReceiveConsecutiveBytes(Way way) {
        GuardedFile file = newFile(SIZE);
        try (GuardedMemory memory = memory(way.kind(), SIZE);
                CuFileHandle handle = openToRead(file, way.mode())) {
            List<MemoryRange> parts = parts(memory, 8192, PAGE, 30_001, 1003, 20_000, 0, 40_960, 2 * PAGE, 3, 77);
            long total = PAGE + 1003 + 2 * PAGE + 77;
            for (long at : new long[]{0, PAGE, 517}) {
                assertThat(handle.readv(parts, at)).isEqualTo(total);
                memory.expect(8192, file.expected(at, PAGE));
                memory.expect(30_001, file.expected(at + PAGE, 1003));
                memory.expect(40_960, file.expected(at + PAGE + 1003, 2 * PAGE));
                memory.expect(3, file.expected(at + 3 * PAGE + 1003, 77));
                memory.verify();
            }
        }
        file.verify();
    }

    @ParameterizedTest
    @MethodSource("ways")
    void readStopsAtTheEndOfTheFile(Way way) {
        GuardedFile file = newFile(SIZE);
        try (GuardedMemory memory = memory(way.kind(), SIZE);
                CuFileHandle handle = openToRead(file, way.mode())) {
            List<MemoryRange> parts = parts(memory, 0, PAGE, 8192, PAGE, 16_384, PAGE);
            long at = SIZE - PAGE - 10;
            assertThat(handle.readv(parts, at)).isEqualTo(PAGE + 10);
            memory.expect(0, file.expected(at, PAGE));
            memory.expect(8192, file.expected(at + PAGE, 10));
            assertThat(handle.readv(parts, SIZE)).isZero();
            assertThat(handle.readv(parts, SIZE + PAGE)).isZero();
            memory.verify();
        }
    }

    @ParameterizedTest
    @MethodSource("ways")
    void writeTakesTheRangesInTheirOrder(Way way) {
        GuardedFile file = newFile(SIZE);
        try (GuardedMemory memory = memory(way.kind(), SIZE);
                CuFileHandle handle = openToWrite(file, way.mode())) {
            List<MemoryRange> parts = parts(memory, 20_480, PAGE, 100, 0, 5, 1001, 8192, PAGE);
            for (int at : new int[]{0, 333, SIZE - 100, SIZE + 20_000}) {
                assertThat(handle.writev(parts, at)).isEqualTo(2 * PAGE + 1001);
                file.expectWrite(at, memory.expected(20_480, PAGE));
                file.expectWrite(at + PAGE, memory.expected(5, 1001));
                file.expectWrite(at + PAGE + 1001, memory.expected(8192, PAGE));
                file.verify();
            }
            memory.verify();
        }
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void manyRangesAreOneRequest(MemoryKind kind) {
        int count = 300;
        GuardedFile file = newFile(count * 100 + 50);
        try (GuardedMemory memory = memory(kind, count * 200);
                CuFileHandle handle = openToRead(file, Mode.BUFFERED)) {
            List<MemoryRange> parts = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                parts.add(memory.range().slice(i * 200L, 100));
                memory.expect(i * 200, file.expected(7 + i * 100L, 100));
            }
            assertThat(handle.readv(parts, 7)).isEqualTo(count * 100);
            memory.verify();
        }
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void laterRangeWinsWhereTwoOverlap(MemoryKind kind) {
        GuardedFile file = newFile(SIZE);
        try (GuardedMemory memory = memory(kind, SIZE);
                CuFileHandle handle = openToRead(file, Mode.BUFFERED)) {
            assertThat(handle.readv(parts(memory, 0, PAGE, 0, PAGE), 0)).isEqualTo(2 * PAGE);
            memory.expect(0, file.expected(PAGE, PAGE));
            memory.verify();
        }
    }

    @Test
    void memoryOfAllKindsTakesPart() {
        GuardedFile file = newFile(SIZE);
        List<GuardedMemory> memories = kinds().map(kind -> memory(kind, PAGE + 1)).toList();
        try (CuFileHandle handle = openToRead(file, Mode.BUFFERED)) {
            int count = memories.size();
            assertThat(handle.readv(memories.stream().map(GuardedMemory::range).toList(), 11))
                    .isEqualTo(count * (PAGE + 1L));
            for (int i = 0; i < count; i++) {
                memories.get(i).expect(0, file.expected(11 + i * (PAGE + 1L), PAGE + 1));
                memories.get(i).verify();
            }
        } finally {
            memories.forEach(GuardedMemory::close);
        }
    }

    @Test
    void emptyVectorMovesNothing() {
        GuardedFile file = newFile(SIZE);
        try (GuardedMemory memory = memory(MemoryKind.HOST, PAGE);
                CuFileHandle handle = openToWrite(file, Mode.BUFFERED)) {
            for (List<MemoryRange> nothing : List.of(List.<MemoryRange>of(), parts(memory, 0, 0, PAGE, 0))) {
                assertThat(handle.readv(nothing, 0)).isZero();
                assertThat(handle.writev(nothing, SIZE + 5)).isZero();
            }
            memory.verify();
        }
        file.verify();
    }

    @Test
    void invalidVectorChangesNothing() {
        GuardedFile file = newFile(SIZE);
        try (GuardedMemory memory = memory(MemoryKind.HOST, PAGE);
                CuFileHandle readOnly = openToRead(file, Mode.BUFFERED);
                CuFileHandle handle = openToWrite(file, Mode.BUFFERED)) {
            List<MemoryRange> parts = parts(memory, 0, 100, 200, 100);
            Failures.expect(CuFileError.INVALID_VALUE, () -> handle.readv(parts, -1));
            Failures.expect(CuFileError.INVALID_VALUE, () -> handle.writev(parts, Long.MAX_VALUE - 100));
            assertThat(Failures.expect(CuFileError.INVALID_FILE_OPEN_FLAG, () -> readOnly.writev(parts, 0)).function())
                    .isEqualTo("cuFileWritev");
            memory.verify();
        }
        file.verify();
    }

    @Test
    void vectorsCountApart() {
        assumeFalse(backend().unbuiltFunctions().contains("cuFileGetStatsL1"), "not built");
        assumeFalse(diverges(Divergence.STATISTICS_OF_ONE_BACKEND), "two backends count");
        GuardedFile file = newFile(SIZE);
        try (CuFileDriver driver = newDriver();
                GuardedMemory memory = GuardedMemory.allocate(driver.allocator(), MemoryKind.HOST, SIZE);
                CuFileHandle handle =
                        driver.openFile(file.path(), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            CuFileStatistics statistics = driver.statistics();
            statistics.setLevel(1);
            statistics.start();
            handle.readv(parts(memory, 0, PAGE, 8192, 100), 0);
            handle.readv(parts(memory, 0, PAGE), SIZE - 50);
            handle.writev(parts(memory, 0, PAGE, 8192, 100), 0);
            StatisticsLevel1 counted = statistics.level1();
            assertThat(counted.readvOps()).isEqualTo(new OperationCount(2, 0));
            assertThat(counted.readvBytes()).isEqualTo(PAGE + 150);
            assertThat(counted.writevOps()).isEqualTo(new OperationCount(1, 0));
            assertThat(counted.writevBytes()).isEqualTo(PAGE + 100);
            assertThat(counted.readOps()).as("calls of cuFileRead").isEqualTo(new OperationCount(0, 0));
            assertThat(Arrays.asList(counted.readBytes(), counted.writeBytes())).containsOnly(0L);
        }
    }
}
