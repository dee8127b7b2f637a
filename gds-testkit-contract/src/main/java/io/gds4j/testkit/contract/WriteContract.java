package io.gds4j.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileHandle;
import io.gds4j.error.CuFileError;
import io.gds4j.error.Errno;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import io.gds4j.testkit.RandomBytes;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.StandardOpenOption;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Contract of writes: which bytes of the file they change.
 *
 * @since 0.1
 */
public abstract class WriteContract extends BackendContract {
    private static final int PAGE = 4096;

    /** For subclasses. */
    protected WriteContract() {
    }

    /** Writes, and checks the count, the memory and the whole file. */
    private void write(
            GuardedFile file, CuFileHandle handle, GuardedMemory memory, int size, long fileOffset, int bufferOffset) {
        long count = handle.write(memory.range(), size, fileOffset, bufferOffset);

        assertThat(count).as("count of %s bytes at %s", size, fileOffset).isEqualTo(size);
        file.expectWrite(fileOffset, memory.expected(bufferOffset, size));
        file.verify();
        memory.verify();
    }

    private void writeOne(Way way, int fileSize, int memorySize, int size, long fileOffset, int bufferOffset) {
        GuardedFile file = newFile(fileSize);
        try (CuFileHandle handle = openToWrite(file, way.mode());
                GuardedMemory memory = memory(way.kind(), memorySize)) {
            write(file, handle, memory, size, fileOffset, bufferOffset);
        }
        file.verify();
    }

    @ParameterizedTest
    @MethodSource("ways")
    void emptyFileGrowsToTheWrittenSize(Way way) {
        writeOne(way, 0, 3 * PAGE, 3 * PAGE, 0, 0);
        writeOne(way, 0, 3 * PAGE, 1, 0, 0);
        writeOne(way, 0, 20_000, 12_345, 0, 0);
    }

    @ParameterizedTest
    @MethodSource("ways")
    void overwritingReplacesTheWholeContent(Way way) {
        writeOne(way, 4 * PAGE, 4 * PAGE, 4 * PAGE, 0, 0);
    }

    @ParameterizedTest
    @MethodSource("ways")
    void bytesAroundTheRangeAreUnchanged(Way way) {
        writeOne(way, 10 * PAGE, PAGE, PAGE, 3 * PAGE, 0);
        writeOne(way, 10 * PAGE, 2 * PAGE, 1000, 3 * PAGE + 5, 0);
        writeOne(way, 10 * PAGE, 4 * PAGE, 2 * PAGE + 2, 3 * PAGE - 1, 0);
        writeOne(way, 10 * PAGE, PAGE, 1, 4 * PAGE - 1, 0);
        writeOne(way, 10 * PAGE, PAGE, 2, 4 * PAGE - 1, 0);
    }

    @ParameterizedTest
    @MethodSource("ways")
    void bufferOffsetSelectsWhatIsWritten(Way way) {
        writeOne(way, 10 * PAGE, 4 * PAGE, PAGE, PAGE, PAGE);
        writeOne(way, 10 * PAGE, 4 * PAGE, 2 * PAGE, PAGE, 33);
        writeOne(way, 10 * PAGE, 4 * PAGE, 1, PAGE, 4 * PAGE - 1);
    }

    @ParameterizedTest
    @MethodSource("ways")
    void oddLastPageIsWrittenWithoutMovingTheEnd(Way way) {
        writeOne(way, 3 * PAGE + 100, PAGE, 100, 3 * PAGE, 0);
        writeOne(way, 3 * PAGE + 100, PAGE, 50, 3 * PAGE + 20, 0);
        writeOne(way, 3 * PAGE + 100, 2 * PAGE, PAGE + 100, 2 * PAGE, 0);
    }

    @ParameterizedTest
    @MethodSource("ways")
    void appendingGrowsTheFileExactly(Way way) {
        writeOne(way, 3 * PAGE, 2 * PAGE, PAGE, 3 * PAGE, 0);
        writeOne(way, 3 * PAGE, 2 * PAGE, 10, 3 * PAGE, 0);
        writeOne(way, 3 * PAGE + 5, 2 * PAGE, 2 * PAGE, 3 * PAGE + 5, 0);
        writeOne(way, 3 * PAGE + 5, 3 * PAGE, 2 * PAGE + 17, 2 * PAGE + 6, 0);
    }

    @ParameterizedTest
    @MethodSource("ways")
    void gapPastTheEndReadsAsZeros(Way way) {
        writeOne(way, 100, PAGE, 10, 100_003, 0);
        writeOne(way, PAGE + 1, PAGE, PAGE, 16 * PAGE, 0);
        writeOne(way, 0, 3 * PAGE, 2 * PAGE, 16 * PAGE - 1, 0);
    }

    @ParameterizedTest
    @MethodSource("ways")
    void zeroBytesNeverGrowTheFile(Way way) {
        writeOne(way, 100, PAGE, 0, 0, 0);
        GuardedFile file = newFile(100);
        try (CuFileHandle handle = openToWrite(file, way.mode());
                GuardedMemory memory = memory(way.kind(), PAGE)) {
            assertThat(handle.write(memory.range(), 0, 1 << 20, 0)).isZero();
            assertThat(handle.write(memory.range(), 0, Long.MAX_VALUE, PAGE)).isZero();
        }
        file.verify();
    }

    @ParameterizedTest
    @MethodSource("ways")
    void manyPiecesArriveAtTheirOffsets(Way way) {
        int piece = backend().pieceBytes();
        writeOne(way, 100, 3 * piece + 9000, 3 * piece + 4321, 0, 511);
        writeOne(way, 4 * piece, 2 * piece, 2 * piece, PAGE, 0);
        writeOne(way, 4 * piece, 2 * piece, 2 * piece, 1, 0);
    }

    @ParameterizedTest
    @MethodSource("ways")
    void readReturnsWhatWasJustWritten(Way way) {
        GuardedFile file = newFile(6 * PAGE);
        try (CuFileHandle handle = openToWrite(file, way.mode());
                GuardedMemory source = memory(way.kind(), 8 * PAGE);
                GuardedMemory target = memory(way.kind(), 8 * PAGE)) {
            for (int round = 0; round < 10; round++) {
                source.put(0, RandomBytes.of(round, 8 * PAGE));
                write(file, handle, source, 3 * PAGE + round * 100, round * 777, round);
                int size = file.size();
                assertThat(handle.read(target.range(), 8 * PAGE, 0, 0)).isEqualTo(Math.min(size, 8 * PAGE));
                target.expect(0, file.expected(0, 8 * PAGE));
                target.verify();
            }
        }
    }

    @ParameterizedTest
    @MethodSource("ways")
    void directAndBufferedHandlesSeeEachOthersWrites(Way way) {
        GuardedFile file = newFile(6 * PAGE);
        try (CuFileHandle first = openToWrite(file, Mode.BUFFERED);
                CuFileHandle second = openToWrite(file, Mode.DIRECT);
                GuardedMemory memory = memory(way.kind(), 6 * PAGE)) {
            for (int round = 0; round < 6; round++) {
                CuFileHandle writer = round % 2 == 0 ? first : second;
                CuFileHandle reader = round % 2 == 0 ? second : first;
                memory.put(0, RandomBytes.of(round, 6 * PAGE));
                write(file, writer, memory, 2 * PAGE + 300, PAGE * round / 2, 0);
                assertThat(reader.read(memory.range(), 6 * PAGE, 0, 0)).isEqualTo(6 * PAGE);
                memory.expect(0, file.expected(0, 6 * PAGE));
                memory.verify();
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void writeOnlyHandleWritesUnalignedRanges(Mode mode) {
        GuardedFile file = newFile(10 * PAGE);
        try (CuFileHandle handle =
                driver().openFile(file.path(), mode.options(StandardOpenOption.WRITE));
                GuardedMemory memory = memory(backend().kinds().getFirst(), 4 * PAGE)) {
            write(file, handle, memory, 2 * PAGE + 3, PAGE - 1, 0);
            write(file, handle, memory, 100, 10, 0);
        }
    }

    @ParameterizedTest
    @EnumSource
    void truncateShortensAndLengthens(Mode mode) {
        GuardedFile file = newFile(3 * PAGE + 9);
        try (CuFileHandle handle = openToWrite(file, mode);
                GuardedMemory memory = memory(backend().kinds().getFirst(), 8 * PAGE)) {
            for (int size : new int[]{PAGE + 1, 5 * PAGE, 5 * PAGE + 1, 0, 77}) {
                handle.truncate(size);
                file.expectSize(size);
                file.verify();
                assertThat(handle.size()).isEqualTo(size);
                assertThat(handle.read(memory.range(), 0)).isEqualTo(size);
                memory.expect(0, file.expected(0, 8 * PAGE));
                memory.verify();
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void reservationKeepsTheBytesAndExtendsTheFile(Mode mode) {
        GuardedFile file = newFile(3 * PAGE + 9);
        try (CuFileHandle handle = openToWrite(file, mode);
                CuFileHandle reader = openToRead(file, mode)) {
            handle.reserve(0);
            handle.reserve(PAGE);
            file.verify();
            handle.reserve(5 * PAGE + 1);
            assertThat(handle.size()).isEqualTo(5 * PAGE + 1);
            handle.truncate(3 * PAGE + 9);
            Failures.expect(CuFileError.INVALID_VALUE, Errno.EINVAL, () -> handle.reserve(-1));
            Failures.expect(CuFileError.INVALID_FILE_OPEN_FLAG, Errno.EBADF, () -> reader.reserve(5));
        }
        file.verify();
    }

    @ParameterizedTest
    @EnumSource
    void truncateRefusesNegativeSizesAndReadOnlyHandles(Mode mode) {
        GuardedFile file = newFile(100);
        try (CuFileHandle reader = openToRead(file, mode);
                CuFileHandle writer = openToWrite(file, mode)) {
            Failures.expect(CuFileError.INVALID_VALUE, Errno.EINVAL, () -> writer.truncate(-1));
            Failures.expect(CuFileError.INVALID_FILE_OPEN_FLAG, Errno.EBADF, () -> reader.truncate(5));
        }
        file.verify();
    }

    @ParameterizedTest
    @EnumSource
    void forceSucceedsOnEveryHandle(Mode mode) {
        GuardedFile file = newFile(100);
        try (CuFileHandle reader = openToRead(file, mode);
                CuFileHandle writer = openToWrite(file, mode);
                GuardedMemory memory = memory(backend().kinds().getFirst(), 200)) {
            write(file, writer, memory, 200, 0, 0);
            writer.force(false);
            writer.force(true);
            reader.force(false);
        }
        file.verify();
    }

    @ParameterizedTest
    @EnumSource(value = StandardOpenOption.class, names = {"SYNC", "DSYNC"})
    void synchronousHandlesWriteTheSameBytes(StandardOpenOption synchronous) {
        for (Mode mode : Mode.values()) {
            GuardedFile file = newFile(5 * PAGE);
            OpenOption[] options = mode.options(StandardOpenOption.READ, StandardOpenOption.WRITE, synchronous);
            try (CuFileHandle handle = driver().openFile(file.path(), options);
                    GuardedMemory memory = memory(backend().kinds().getFirst(), 4 * PAGE)) {
                write(file, handle, memory, 2 * PAGE + 5, PAGE - 3, 0);
                write(file, handle, memory, 2 * PAGE, 0, 0);
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void openOptionsCreateAndTruncate(Mode mode) throws Exception {
        var path = newPath();
        OpenOption[] create = mode.options(StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW);
        try (GuardedMemory memory = memory(backend().kinds().getFirst(), PAGE)) {
            try (CuFileHandle handle = driver().openFile(path, create)) {
                handle.write(memory.range(), 0);
            }
            assertThat(Files.readAllBytes(path)).isEqualTo(memory.expected(0, PAGE));
            Failures.expectErrno(Errno.EEXIST, () -> driver().openFile(path, create));

            OpenOption[] replace = mode.options(
                    StandardOpenOption.WRITE, StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING);
            try (CuFileHandle handle = driver().openFile(path, replace)) {
                assertThat(handle.size()).isZero();
                handle.write(memory.range(), 10, 0, 0);
            }
            assertThat(Files.readAllBytes(path)).isEqualTo(memory.expected(0, 10));
        }
    }
}
