package io.gds4j.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gds4j.CuFileHandle;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Contract of reads: their counts, and which bytes they change.
 *
 * @since 0.1
 */
public abstract class ReadContract extends BackendContract {
    private static final int PAGE = 4096;
    private static final long BEYOND_2_GIB = (1L << 31) + 3 * PAGE;

    /** For subclasses. */
    protected ReadContract() {
    }

    /** Reads, and checks the count and every byte of the memory. */
    private void read(
            GuardedFile file, CuFileHandle handle, GuardedMemory memory, int size, long fileOffset, int bufferOffset) {
        byte[] content = file.expected(fileOffset, size);

        long count = handle.read(memory.range(), size, fileOffset, bufferOffset);

        assertThat(count).as("count of %s bytes at %s", size, fileOffset).isEqualTo(content.length);
        memory.expect(bufferOffset, content);
        memory.verify();
    }

    private void readAll(Way way, int fileSize, int memorySize, int size, long fileOffset, int bufferOffset) {
        GuardedFile file = newFile(fileSize);
        try (CuFileHandle handle = openToRead(file, way.mode());
                GuardedMemory memory = memory(way.kind(), memorySize)) {
            read(file, handle, memory, size, fileOffset, bufferOffset);
        }
        file.verify();
    }

    @ParameterizedTest
    @MethodSource("ways")
    void emptyFileHasNothingToRead(Way way) {
        readAll(way, 0, PAGE, PAGE, 0, 0);
    }

    @ParameterizedTest
    @MethodSource("ways")
    void fileSmallerThanTheMemoryIsReadWhole(Way way) {
        readAll(way, 10_000, 3 * PAGE, 3 * PAGE, 0, 0);
    }

    @ParameterizedTest
    @MethodSource("ways")
    void fileAsLargeAsTheMemoryIsReadWhole(Way way) {
        readAll(way, 3 * PAGE, 3 * PAGE, 3 * PAGE, 0, 0);
    }

    @ParameterizedTest
    @MethodSource("ways")
    void fileLargerThanTheMemoryFillsIt(Way way) {
        readAll(way, 100_000, 3 * PAGE, 3 * PAGE, 0, 0);
    }

    @ParameterizedTest
    @MethodSource("ways")
    void fileOffsetSelectsWhatIsRead(Way way) {
        readAll(way, 100_000, 3 * PAGE, 3 * PAGE, PAGE, 0);
        readAll(way, 100_000, 3 * PAGE, 3 * PAGE, 12_345, 0);
    }

    @ParameterizedTest
    @MethodSource("ways")
    void bufferOffsetSelectsTheDestination(Way way) {
        readAll(way, 100_000, 4 * PAGE, 2 * PAGE, 0, PAGE);
        readAll(way, 100_000, 4 * PAGE, 2 * PAGE, 0, 77);
    }

    @ParameterizedTest
    @MethodSource("ways")
    void manyPiecesArriveAtTheirOffsets(Way way) {
        int piece = backend().pieceBytes();
        readAll(way, 3 * piece + 4321, 3 * piece + 9000, 3 * piece + 4321, 0, 511);
        readAll(way, 3 * piece, 2 * piece, 2 * piece, PAGE, 0);
    }

    @ParameterizedTest
    @MethodSource("ways")
    void lastByteOfTheFileIsRead(Way way) {
        readAll(way, 3 * PAGE, PAGE, 1, 3 * PAGE - 1, 0);
        readAll(way, 3 * PAGE + 1, PAGE, 1, 3 * PAGE, 0);
    }

    @ParameterizedTest
    @MethodSource("ways")
    void lastByteOfTheMemoryIsFilled(Way way) {
        readAll(way, PAGE, PAGE, 1, 5, PAGE - 1);
        readAll(way, PAGE, PAGE, 0, 5, PAGE);
    }

    @ParameterizedTest
    @MethodSource("ways")
    void readAtOrPastTheEndReturnsZero(Way way) {
        readAll(way, 2 * PAGE, PAGE, PAGE, 2 * PAGE, 0);
        readAll(way, 2 * PAGE + 7, PAGE, PAGE, 2 * PAGE + 7, 0);
        readAll(way, 2 * PAGE, PAGE, PAGE, 3 * PAGE, 0);
        readAll(way, 2 * PAGE, PAGE, 100, 2 * PAGE + 1, 0);
    }

    @ParameterizedTest
    @MethodSource("ways")
    void readFarPastTheEndReturnsZero(Way way) {
        readAll(way, PAGE, PAGE, PAGE, 1L << 40, 0);
        readAll(way, PAGE, PAGE, PAGE, Long.MAX_VALUE - PAGE, 0);
    }

    @ParameterizedTest
    @MethodSource("ways")
    void readAcrossTheEndLeavesTheRestOfMemoryUnchanged(Way way) {
        readAll(way, 9192, 65536, 65536, 0, 0);
        readAll(way, 2 * PAGE, 65536, 65536, PAGE, 0);
        readAll(way, 5 * PAGE + 10, 65536, 65536, 5 * PAGE, 0);
        readAll(way, 3 * backend().pieceBytes() + 1, 4 * backend().pieceBytes(), 4 * backend().pieceBytes(), 0, 0);
    }

    @ParameterizedTest
    @MethodSource("ways")
    void sizeZeroReturnsZeroForAnyOffset(Way way) {
        readAll(way, PAGE, PAGE, 0, 0, 0);
        readAll(way, PAGE, PAGE, 0, 1L << 40, 0);
    }

    @ParameterizedTest
    @MethodSource("ways")
    void holesReadAsZerosAndOverwriteMemory(Way way) throws IOException {
        GuardedFile file = GuardedFile.create(newPath(), 0, 1);
        int end = 2 * backend().pieceBytes() + 100;
        file.write(end, new byte[]{1, 2, 3});
        try (CuFileHandle handle = openToRead(file, way.mode());
                GuardedMemory memory = memory(way.kind(), end + 3)) {
            read(file, handle, memory, end + 3, 0, 0);
        }
    }

    @ParameterizedTest
    @MethodSource("ways")
    void readWithoutSizeReadsTheWholeRange(Way way) {
        GuardedFile file = newFile(50_000);
        try (CuFileHandle handle = openToRead(file, way.mode());
                GuardedMemory memory = memory(way.kind(), 20_000)) {
            assertThat(handle.read(memory.range(), 10_000)).isEqualTo(20_000);
            memory.expect(0, file.expected(10_000, 20_000));
            memory.verify();
            assertThat(handle.read(memory.range().slice(100, 50), 3)).isEqualTo(50);
            memory.expect(100, file.expected(3, 50));
            memory.verify();
        }
    }

    @ParameterizedTest
    @MethodSource("ways")
    void readReturnsWhatAnotherChannelWrote(Way way) {
        GuardedFile file = newFile(8 * PAGE);
        try (CuFileHandle handle = openToRead(file, way.mode());
                GuardedMemory memory = memory(way.kind(), 8 * PAGE)) {
            for (int round = 0; round < 8; round++) {
                file.write(round * PAGE / 2, new byte[]{(byte) round, 1, 2, 3});
                read(file, handle, memory, 8 * PAGE, 0, 0);
            }
        }
    }

    @ParameterizedTest
    @MethodSource("ways")
    void readSeesTheFileGrowAndShrink(Way way) throws IOException {
        GuardedFile file = newFile(3 * PAGE);
        try (CuFileHandle handle = openToRead(file, way.mode());
                GuardedMemory memory = memory(way.kind(), 8 * PAGE)) {
            read(file, handle, memory, 8 * PAGE, 0, 0);
            file.write(3 * PAGE, new byte[2 * PAGE + 5]);
            read(file, handle, memory, 8 * PAGE, 0, 0);
            try (FileChannel channel = FileChannel.open(file.path(), StandardOpenOption.WRITE)) {
                channel.truncate(PAGE + 9);
            }
            file.expectSize(PAGE + 9);
            read(file, handle, memory, 8 * PAGE, 0, 0);
        }
    }

    @Test
    void moreThanTwoGibibytesAreServedWhole() throws IOException {
        assumeTrue(backend().triesMoreThanTwoGibibytes(), "triesMoreThanTwoGibibytes() is false");
        Path path = newPath();
        // The first touch of this much memory takes seconds with small pages.
        MemoryKind kind =
                backend().kinds().contains(MemoryKind.HOST_HUGEPAGE) ? MemoryKind.HOST_HUGEPAGE : MemoryKind.HOST;
        byte[] mark = {1, 2, 3, 4, 5, 6, 7, 8};
        try (FileChannel channel =
                FileChannel.open(path, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.wrap(mark), BEYOND_2_GIB - mark.length);
        }
        // Uses O_DIRECT, because filling the page cache with zeros of the hole is slow.
        try (CuFileHandle handle = driver().openFile(path, Mode.DIRECT.options());
                MemoryAllocation memory = allocator().allocate(kind, BEYOND_2_GIB)) {
            assertThat(handle.read(memory.range(), 0)).isEqualTo(BEYOND_2_GIB);

            byte[] tail = new byte[mark.length];
            MemoryRange end = memory.range().slice(BEYOND_2_GIB - mark.length, mark.length);
            allocator().copyToHost(end, MemorySegment.ofArray(tail));
            assertThat(tail).isEqualTo(mark);
        }
        Files.delete(path);
    }
}
