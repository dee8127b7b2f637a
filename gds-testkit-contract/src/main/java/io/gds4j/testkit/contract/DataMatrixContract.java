package io.gds4j.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileBuffer;
import io.gds4j.CuFileHandle;
import io.gds4j.memory.IoMemory;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Reads and writes of every combination of size, file offset, memory alignment, registration, open mode and kind of
 * memory, each with guard zones around memory and file range.
 *
 * @since 0.1
 */
public abstract class DataMatrixContract extends BackendContract {
    private static final int PAGE = 4096;
    private static final int[] FILE_OFFSETS = {0, PAGE, 1, 512, PAGE - 1};
    private static final int[] MISALIGNMENTS = {0, 1, 512};

    /** For subclasses. */
    protected DataMatrixContract() {
    }

    /** One test case; the test itself iterates over offsets and alignments. */
    record Row(int size, boolean registered, Mode mode, MemoryKind kind) {
    }

    final Stream<Row> rows() {
        int piece = backend().pieceBytes();
        int[] sizes = {
                1, 511, 512, PAGE - 1, PAGE, PAGE + 1, 65536, 65536 + 513, piece - PAGE, piece, piece + PAGE,
                2 * piece + 1
        };
        return IntStream.of(sizes)
                .boxed()
                .flatMap(size -> ways().flatMap(way -> Stream.of(false, true)
                        .map(registered -> new Row(size, registered, way.mode(), way.kind()))));
    }

    /** Large requests use only four combinations, because they take time and have the same edge cases. */
    private boolean isWalked(Row row, int fileOffset, int misalignment) {
        return row.size <= 2 * 65536
                || fileOffset == misalignment
                || fileOffset == PAGE - 1 && misalignment == 0;
    }

    @ParameterizedTest
    @MethodSource("rows")
    void readMovesExactlyTheRange(Row row) {
        GuardedFile file = newFile(row.size + 3 * PAGE);
        try (CuFileHandle handle = openToRead(file, row.mode)) {
            walk(row, (memory, fileOffset, bufferOffset) -> {
                long count = handle.read(memory.io(), row.size, fileOffset, bufferOffset);

                assertThat(count).isEqualTo(row.size);
                memory.guarded().expect(bufferOffset, file.expected(fileOffset, row.size));
                memory.guarded().verify();
            });
        }
        file.verify();
    }

    @ParameterizedTest
    @MethodSource("rows")
    void writeMovesExactlyTheRange(Row row) {
        GuardedFile file = newFile(row.size + 3 * PAGE);
        try (CuFileHandle handle = openToWrite(file, row.mode)) {
            walk(row, (memory, fileOffset, bufferOffset) -> {
                long count = handle.write(memory.io(), row.size, fileOffset, bufferOffset);

                assertThat(count).isEqualTo(row.size);
                file.expectWrite(fileOffset, memory.guarded().expected(bufferOffset, row.size));
                file.verify();
            });
        }
    }

    private record Memory(GuardedMemory guarded, IoMemory io) {
    }

    private interface Cell {
        void run(Memory memory, int fileOffset, int bufferOffset);
    }

    private void walk(Row row, Cell cell) {
        for (int misalignment : MISALIGNMENTS) {
            try (GuardedMemory memory = GuardedMemory.allocate(
                    allocator(), row.kind, row.size + 2 * PAGE, misalignment, row.size + misalignment)) {
                for (int fileOffset : FILE_OFFSETS) {
                    if (isWalked(row, fileOffset, misalignment)) {
                        // Half of the requests use the buffer offset instead of the base address.
                        int bufferOffset = fileOffset % 2 == 0 ? 0 : PAGE - 3;
                        run(row, memory, cell, fileOffset, bufferOffset);
                    }
                }
                memory.verify();
            }
        }
    }

    private void run(Row row, GuardedMemory memory, Cell cell, int fileOffset, int bufferOffset) {
        try {
            if (row.registered) {
                try (CuFileBuffer buffer = driver().registerBuffer(memory.range())) {
                    cell.run(new Memory(memory, buffer), fileOffset, bufferOffset);
                }
            } else {
                cell.run(new Memory(memory, memory.range()), fileOffset, bufferOffset);
            }
        } catch (AssertionError e) {
            throw new AssertionError(
                    "%s, file offset %s, buffer offset %s, %s".formatted(row, fileOffset, bufferOffset, memory), e);
        }
    }
}
