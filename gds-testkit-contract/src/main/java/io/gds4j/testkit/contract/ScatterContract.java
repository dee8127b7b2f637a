package io.gds4j.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileHandle;
import io.gds4j.IoResult;
import io.gds4j.IoResults;
import io.gds4j.RangeRead;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import io.gds4j.testkit.RandomBytes;
import java.lang.foreign.MemorySegment;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Contract of reads of one file range into several memories, and of writes of it from them: their counts, which bytes they change, and what they refuse.
 *
 * @since 0.1
 */
public abstract class ScatterContract extends BackendContract {
    private static final int PAGE = 4096;

    /** For subclasses. */
    protected ScatterContract() {
    }

    /** Rows of a file range and their place; {@code memory} counts the memories of a test. */
    private record Rows(int from, int fromPitch, int width, int rows, int memory, int to, int toPitch) {
        static Rows dense(int from, int length, int memory, int to) {
            return new Rows(from, length, length, 1, memory, to, length);
        }

        ScatterCopy copy(List<GuardedMemory> memories) {
            return new ScatterCopy(from, fromPitch, width, rows, memories.get(memory).range(), to, toPitch);
        }

        /** Copies the rows from their memory to their place in a file range. */
        void gather(List<GuardedMemory> memories, byte[] content) {
            for (int row = 0; row < rows; row++) {
                byte[] bytes = memories.get(memory).expected(to + row * toPitch, width);
                System.arraycopy(bytes, 0, content, from + row * fromPitch, width);
            }
        }

        /** Expects the bytes of those rows that {@code content} still has. */
        void expect(List<GuardedMemory> memories, byte[] content) {
            for (int row = 0; row < rows; row++) {
                int begin = from + row * fromPitch;
                int end = Math.min(begin + width, content.length);
                if (begin < end) {
                    memories.get(memory).expect(to + row * toPitch, Arrays.copyOfRange(content, begin, end));
                }
            }
        }
    }

    /** The kind of the way, the same kind again, and the last kind of the backend. */
    private List<GuardedMemory> memories(Way way, int length) {
        List<GuardedMemory> memories = new ArrayList<>();
        for (MemoryKind kind : List.of(way.kind(), way.kind(), backend().kinds().getLast())) {
            memories.add(memory(kind, length));
        }
        return memories;
    }

    /** Reads twice, and checks the counts and every byte of the memories. */
    private void scatter(Way way, int fileSize, int memorySize, long fileOffset, int length, Rows... rows) {
        GuardedFile file = newFile(fileSize);
        List<GuardedMemory> memories = memories(way, memorySize);
        try (CuFileHandle handle = openToRead(file, way.mode())) {
            byte[] content = file.expected(fileOffset, length);
            List<ScatterCopy> copies = Arrays.stream(rows).map(one -> one.copy(memories)).toList();
            for (int i = 0; i < 2; i++) {
                assertThat(handle.readScattered(fileOffset, length, copies)).isEqualTo(content.length);
            }
            Arrays.stream(rows).forEach(one -> one.expect(memories, content));
            memories.forEach(GuardedMemory::verify);
        } finally {
            memories.forEach(GuardedMemory::close);
        }
        file.verify();
    }

    @ParameterizedTest
    @MethodSource("ways")
    void everyMemoryReceivesItsPart(Way way) {
        scatter(way, 50_000, 20_000, 100, 30_000,
                Rows.dense(0, 10_000, 0, 0), Rows.dense(10_000, 10_000, 1, 5_001), Rows.dense(29_999, 1, 2, 19_999));
    }

    @ParameterizedTest
    @MethodSource("ways")
    void replicasAreEqual(Way way) {
        int size = 2 * backend().pieceBytes() + 4321;
        scatter(way, size + PAGE, size, PAGE, size,
                Rows.dense(0, size, 0, 0), Rows.dense(0, size, 1, 0), Rows.dense(0, size, 2, 0));
        scatter(way, 9_000, 9_000, 1, 777,
                Rows.dense(0, 777, 0, 7), Rows.dense(0, 777, 0, 1_000), Rows.dense(0, 777, 2, 3));
    }

    @ParameterizedTest
    @MethodSource("ways")
    void columnsOfOddRowsGoToDifferentMemories(Way way) {
        int rows = backend().pieceBytes() / 1000;
        scatter(way, rows * 2007 + 13, rows * 1001, 13, rows * 2007,
                new Rows(0, 2007, 1001, rows, 0, 0, 1001),
                new Rows(1001, 2007, 999, rows, 1, 17, 999),
                new Rows(2000, 2007, 7, rows, 2, 3, 7));
    }

    @ParameterizedTest
    @MethodSource("ways")
    void columnsInterleaveInOneMemory(Way way) {
        scatter(way, 40_000, 60_000, 0, 30_000,
                new Rows(0, 300, 100, 100, 0, 200, 600),
                new Rows(100, 300, 200, 100, 0, 400, 600),
                new Rows(299, 300, 1, 100, 2, 0, 1));
    }

    @ParameterizedTest
    @MethodSource("ways")
    void largeReplicasMayHaveRowsBetweenThem(Way way) {
        int large = (1 << 20) + 100;
        scatter(way, 3 * large, large + 2_000, 5, 2 * large + 3_000,
                Rows.dense(0, large, 0, 0), Rows.dense(0, large, 1, 2_000),
                new Rows(large, 30, 13, 100, 2, 0, 20),
                Rows.dense(large + 3_000, large, 2, 2_000));
    }

    @ParameterizedTest
    @MethodSource("ways")
    void endOfTheFileLeavesTheRestUnchanged(Way way) {
        scatter(way, 10_000, 20_000, 0, 20_000,
                Rows.dense(0, 20_000, 0, 0), new Rows(0, 2_000, 1_000, 10, 1, 0, 1_000));
        scatter(way, 2 * PAGE, PAGE, 2 * PAGE, PAGE, Rows.dense(0, PAGE, 0, 0), Rows.dense(0, 1, 2, 0));
        int large = 1 << 20;
        scatter(way, large + 77, 2 * large, 1, 2 * large,
                Rows.dense(0, 2 * large, 0, 0), Rows.dense(0, 2 * large, 2, 0));
    }

    /** Writes the range from memories with contents of their own, and checks the file and the report. */
    private void gather(Way way, int fileSize, int memorySize, long fileOffset, int length, Rows... rows) {
        GuardedFile file = newFile(fileSize);
        List<GuardedMemory> memories = memories(way, memorySize);
        for (int i = 0; i < memories.size(); i++) {
            memories.get(i).put(0, RandomBytes.of(i, memorySize));
        }
        try (CuFileHandle handle = openToWrite(file, way.mode())) {
            byte[] content = new byte[length];
            for (Rows one : rows) {
                one.gather(memories, content);
            }
            List<ScatterCopy> copies = Arrays.stream(rows).map(one -> one.copy(memories)).toList();
            IoResult result = new IoResult();
            for (int i = 0; i < 2; i++) {
                assertThat(handle.writeScattered(fileOffset, length, copies, result)).isEqualTo(length);
            }
            file.expectWrite(fileOffset, content);
            assertThat(result.isComplete()).isTrue();
            assertThat(result.bytesByPath().values().stream().mapToLong(Long::longValue).sum()).isEqualTo(length);
            memories.forEach(GuardedMemory::verify);
        } finally {
            memories.forEach(GuardedMemory::close);
        }
        file.verify();
    }

    @ParameterizedTest
    @MethodSource("ways")
    void aWriteGathersItsParts(Way way) {
        gather(way, 50_000, 20_000, 100, 30_000,
                Rows.dense(0, 10_000, 0, 0), Rows.dense(10_000, 10_000, 1, 5_001),
                Rows.dense(20_000, 9_999, 0, 3), Rows.dense(29_999, 1, 2, 19_999));
        int rows = backend().pieceBytes() / 1000;
        gather(way, 13, rows * 1001, 13, rows * 2000,
                new Rows(0, 2000, 1001, rows, 0, 0, 1001), new Rows(1001, 2000, 999, rows, 1, 0, 999));
        int large = (1 << 20) + 100;
        gather(way, 3 * large, large, 5, 2 * large + 77,
                Rows.dense(0, large, 0, 0), Rows.dense(large, 77, 2, 5), Rows.dense(large + 77, large, 1, 0));
    }

    @ParameterizedTest
    @MethodSource("ways")
    void manyFragmentsAreWrittenAndRead(Way way) {
        Rows[] rows = new Rows[300];
        for (int i = 0; i < rows.length; i++) {
            rows[i] = Rows.dense(i * 4096, 4096, i % 3, (rows.length - 1 - i) / 3 * 4096);
        }
        gather(way, 5, 100 * 4096, 4096, rows.length * 4096, rows);
        scatter(way, (rows.length + 1) * 4096, 100 * 4096, 77, rows.length * 4096, rows);
    }

    @Test
    void writesThatLeaveBytesOutAreRefused() {
        GuardedFile file = newFile(PAGE);
        try (CuFileHandle handle = openToWrite(file, Mode.BUFFERED); GuardedMemory memory = first()) {
            MemoryRange range = memory.range();
            for (List<ScatterCopy> wrong : List.of(
                    List.<ScatterCopy>of(),
                    List.of(new ScatterCopy(0, 99, range, 0)),
                    List.of(new ScatterCopy(0, 60, range, 0), new ScatterCopy(50, 50, range, 60)))) {
                Failures.expect(CuFileError.INVALID_VALUE, () -> handle.writeScattered(0, 100, wrong));
            }
        }
        file.verify();
    }

    @Test
    void aResultReportsPlainRequests() {
        GuardedFile file = newFile(PAGE);
        try (CuFileHandle handle = openToRead(file, Mode.BUFFERED); GuardedMemory memory = first()) {
            IoResult result = new IoResult();
            assertThat(handle.read(memory.range(), PAGE, 10, 0, result)).isEqualTo(PAGE - 10);
            memory.expect(0, file.expected(10, PAGE));
            assertThat(result.moved()).isEqualTo(PAGE - 10);
            assertThat(result.bytes(result.path().orElseThrow())).isEqualTo(PAGE - 10);
            assertThat(result.isComplete()).isFalse();
            assertThat(handle.read(memory.range(), 10, result)).isEqualTo(PAGE - 10);
            assertReports(result, PAGE, PAGE - 10);
            byte[] array = new byte[100];
            assertThat(handle.read(MemorySegment.ofArray(array), 7, result)).isEqualTo(100);
            assertThat(array).isEqualTo(file.expected(7, 100));
            assertReports(result, 100, 100);
            Failures.expect(CuFileError.INVALID_FILE_OPEN_FLAG, () -> handle.write(memory.range(), 0, result));
            assertRefused(result, PAGE, CuFileError.INVALID_FILE_OPEN_FLAG);
            Failures.expect(CuFileError.INVALID_FILE_OPEN_FLAG, () -> handle.write(memory.range(), 1, 0, 0, result));
            assertThat(result.error()).isPresent();
            assertThat(result.path()).isEmpty();
            memory.verify();
        }
    }

    @ParameterizedTest
    @MethodSource("ways")
    void rangesOfTwoFilesFillTheirMemories(Way way) {
        GuardedFile one = newFile(50_000);
        GuardedFile other = newFile(3 * PAGE);
        List<GuardedMemory> memories = memories(way, 40_000);
        try (CuFileHandle first = openToRead(one, way.mode()); CuFileHandle second = openToRead(other, Mode.BUFFERED)) {
            MemoryRange memory = memories.get(1).range();
            List<RangeRead> ranges = List.of(
                    RangeRead.of(first, memories.getFirst().range(), 8_000, 5_000, 20_000),
                    RangeRead.of(second, memories.getLast().range(), 0),
                    RangeRead.of(first, memories.getFirst().range(), 8_000, 13_000, 3),
                    RangeRead.of(first, List.of(memory.slice(100, 3_000), memory.slice(0, 90)), 12_999),
                    RangeRead.of(first, memory, 0, 0, 0));
            IoResults results = new IoResults();
            for (int i = 0; i < 2; i++) {
                driver().readRanges(ranges, results);
            }
            memories.getFirst().expect(20_000, one.expected(5_000, 8_000));
            memories.getFirst().expect(3, one.expected(13_000, 8_000));
            memories.get(1).expect(100, one.expected(12_999, 3_000));
            memories.get(1).expect(0, one.expected(15_999, 90));
            memories.getLast().expect(0, other.expected(0, 3 * PAGE));
            memories.forEach(GuardedMemory::verify);
            assertThat(results).extracting(IoResult::moved).containsExactly(8_000L, 3L * PAGE, 8_000L, 3_090L, 0L);
            assertThat(results.get(1).isComplete()).isFalse();
            assertThat(results.get(3).bytesByPath().values().stream().mapToLong(Long::longValue).sum())
                    .isEqualTo(3_090);
        } finally {
            memories.forEach(GuardedMemory::close);
        }
    }

    @Test
    void lengthZeroIsRefusedOnlyForCopiesPastIt() {
        GuardedFile file = newFile(PAGE);
        try (CuFileHandle handle = openToRead(file, Mode.BUFFERED); GuardedMemory memory = first()) {
            ScatterCopy one = new ScatterCopy(0, 1, memory.range(), 0);
            Failures.expect(CuFileError.INVALID_VALUE, () -> handle.readScattered(0, 0, List.of(one)));
            memory.verify();
        }
    }

    private GuardedMemory first() {
        return memory(backend().kinds().getFirst(), PAGE);
    }

    @Test
    void wrongRequestsChangeNothing() {
        GuardedFile file = newFile(PAGE);
        try (CuFileHandle handle = openToRead(file, Mode.BUFFERED); GuardedMemory memory = first()) {
            MemoryRange range = memory.range();
            ScatterCopy good = new ScatterCopy(0, 60, range, 0);
            for (List<ScatterCopy> wrong : List.of(
                    List.<ScatterCopy>of(),
                    List.of(good, new ScatterCopy(50, 51, range, 100)),
                    List.of(good, new ScatterCopy(0, 60, range, 59)),
                    List.of(good, good),
                    List.of(new ScatterCopy(0, 20, 10, 5, range, 0, 20), new ScatterCopy(0, 20, 10, 5, range, 9, 20)),
                    List.of(new ScatterCopy(0, 20, 10, 5, range, 0, 20),
                            new ScatterCopy(0, 20, 10, 5, range, 10, 21)))) {
                Failures.expect(CuFileError.INVALID_VALUE, () -> handle.readScattered(0, 100, wrong));
            }
            Failures.expect(CuFileError.INVALID_VALUE, () -> handle.readScattered(-1, 100, List.of(good)));
            Failures.expect(CuFileError.INVALID_VALUE, () -> handle.readScattered(0, -1, List.of(good)));
            Failures.expect(CuFileError.CUDA_POINTER_RANGE_ERROR, () -> new ScatterCopy(0, 2, range, PAGE - 1));
            memory.verify();
        }
    }

    @Test
    void closedObjectsAreRefused() {
        GuardedFile file = newFile(PAGE);
        GuardedMemory memory = first();
        ScatterCopy copy = new ScatterCopy(0, PAGE, memory.range(), 0);
        CuFileHandle closed = openToRead(file, Mode.BUFFERED);
        closed.close();
        Failures.expect(CuFileError.HANDLE_NOT_REGISTERED, () -> closed.readScattered(0, PAGE, List.of(copy)));
        memory.verify();
        memory.close();
        try (CuFileHandle handle = openToRead(file, Mode.BUFFERED)) {
            Failures.expect(
                    CuFileError.CUDA_POINTER_INVALID, () -> handle.readScattered(0, PAGE, List.of(copy)));
        }
    }

    @Test
    void fileThatIsOnlyWrittenIsRefused() {
        GuardedFile file = newFile(PAGE);
        try (CuFileHandle handle = driver().openFile(file.path(), StandardOpenOption.WRITE);
                GuardedMemory memory = first()) {
            ScatterCopy copy = new ScatterCopy(0, PAGE, memory.range(), 0);
            Failures.expect(
                    CuFileError.INVALID_FILE_OPEN_FLAG, () -> handle.readScattered(0, PAGE, List.of(copy)));
            memory.verify();
        }
    }

    @Test
    void interruptEndsTheRead() {
        GuardedFile file = newFile(PAGE);
        try (CuFileHandle handle = openToRead(file, Mode.BUFFERED); GuardedMemory memory = first()) {
            ScatterCopy copy = new ScatterCopy(0, PAGE, memory.range(), 0);
            Thread.currentThread().interrupt();
            try {
                assertThat(Failures.expect(() -> handle.readScattered(0, PAGE, List.of(copy))))
                        .isInstanceOf(CuFileInterruptedException.class);
            } finally {
                assertThat(Thread.interrupted()).isTrue();
            }
        }
    }
}
