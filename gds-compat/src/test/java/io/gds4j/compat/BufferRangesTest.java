package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.IoResult;
import io.gds4j.IoResults;
import io.gds4j.RangeRead;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.PosixCall;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.testkit.RandomBytes;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Ranges of files into byte buffers and Java arrays, by one call or by futures. */
class BufferRangesTest {
    private static final int SIZE = 3_000_000;
    private static final byte[] CONTENT = RandomBytes.of(6, SIZE);

    @TempDir
    private Path folder;

    private Rig rig;
    private CuFileDriver driver;
    private CuFileHandle file;

    @BeforeEach
    void open() throws IOException {
        rig = Rig.onGpuWithWorkers();
        driver = rig.driver();
        file = driver.openFile(Files.write(folder.resolve("data"), CONTENT));
    }

    @AfterEach
    void close() {
        file.close();
        rig.close();
    }

    private static byte[] expected(long offset, int size) {
        int begin = (int) Math.min(offset, SIZE);
        return Arrays.copyOfRange(CONTENT, begin, Math.min(begin + size, SIZE));
    }

    private static byte[] content(ByteBuffer buffer, long count) {
        byte[] bytes = new byte[(int) count];
        buffer.get(buffer.position(), bytes);
        return bytes;
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void randomRangesFillBuffersOfEachKind(boolean async) {
        long seed = System.nanoTime();
        SplittableRandom random = new SplittableRandom(seed);
        for (int round = 0; round < 6; round++) {
            List<ByteBuffer> buffers = new ArrayList<>();
            List<RangeRead> ranges = new ArrayList<>();
            ByteBuffer shared = ByteBuffer.allocate(1 << 20);
            for (int i = 0; i < 30; i++) {
                int size = random.nextInt(random.nextInt(10) == 0 ? 2_500_000 : 20_000);
                ByteBuffer buffer = switch (random.nextInt(3)) {
                    case 0 -> shared.slice(i * 30_000, Math.min(size, 30_000));
                    case 1 -> ByteBuffer.allocate(size + 5).position(3).limit(size + 3);
                    default -> ByteBuffer.allocateDirect(size + 5).position(3).limit(size + 3);
                };
                buffers.add(buffer);
                ranges.add(RangeRead.of(file, buffer, random.nextInt(SIZE + 10_000)));
            }
            List<Long> moved = async
                    ? driver.readRangesAsync(ranges).stream().map(CompletableFuture::join).toList()
                    : moved(driver.readRanges(ranges));
            for (int i = 0; i < ranges.size(); i++) {
                byte[] expected = expected(ranges.get(i).fileOffset(), (int) ranges.get(i).size());
                assertThat(moved.get(i)).as("range %s, seed %s", i, seed).isEqualTo(expected.length);
                assertThat(content(buffers.get(i), moved.get(i))).as("range %s, seed %s", i, seed).isEqualTo(expected);
                assertThat(buffers.get(i).remaining()).isEqualTo((int) ranges.get(i).size());
            }
        }
    }

    private static List<Long> moved(IoResults results) {
        List<Long> moved = new ArrayList<>();
        results.forEach(result -> moved.add(result.moved()));
        return moved;
    }

    @Test
    void reportOfAnArrayCountsItsPieces() {
        IoResult single = new IoResult();
        MemorySegment array = MemorySegment.ofArray(new byte[SIZE + 100]);
        assertThat(file.read(array, 5, single)).isEqualTo(SIZE - 5);
        assertThat(single.moved()).isEqualTo(SIZE - 5);
        assertThat(single.asked()).isEqualTo(SIZE + 100);
        assertThat(single.bytesByPath().values().stream().mapToLong(Long::longValue).sum()).isEqualTo(SIZE - 5);
        assertThat(array.asSlice(0, SIZE - 5).mismatch(MemorySegment.ofArray(CONTENT).asSlice(5))).isEqualTo(-1);

        IoResults results = driver.readRanges(List.of(RangeRead.of(file, ByteBuffer.allocate(SIZE), 0)));
        assertThat(results.isComplete()).isTrue();
        assertThat(results.get(0).bytesByPath().values().stream().mapToLong(Long::longValue).sum()).isEqualTo(SIZE);
    }

    @Test
    void arraysThatShareAByteAreRefused() {
        byte[] array = new byte[100];
        List<RangeRead> ranges = List.of(
                RangeRead.of(file, ByteBuffer.wrap(array, 0, 51), 0),
                RangeRead.of(file, ByteBuffer.wrap(new byte[100]), 0),
                RangeRead.of(file, ByteBuffer.wrap(array, 50, 50), 1000));
        CuFileException now = catchThrowableOfType(CuFileException.class, () -> driver.readRanges(ranges));
        CuFileException later = catchThrowableOfType(CuFileException.class, () -> driver.readRangesAsync(ranges));
        assertThat(now.error()).isEqualTo(CuFileError.INVALID_VALUE);
        assertThat(now.detail()).contains("ranges 0 and 2 overlap").isEqualTo(later.detail());
        assertThat(array).containsOnly(0);

        driver.readRanges(List.of(
                RangeRead.of(file, ByteBuffer.wrap(array, 0, 50), 0),
                RangeRead.of(file, ByteBuffer.wrap(array, 50, 50), 50)));
        assertThat(array).isEqualTo(expected(0, 100));
    }

    @Test
    void memoryThatCannotBeFilledIsRefusedBeforeAnyRead() {
        byte[] array = new byte[10];
        RangeRead good = RangeRead.of(file, ByteBuffer.wrap(array), 0);
        try (Arena arena = Arena.ofConfined()) {
            List<RangeRead> refused = List.of(
                    RangeRead.of(file, ByteBuffer.allocate(10).asReadOnlyBuffer(), 0),
                    RangeRead.of(file, ByteBuffer.allocateDirect(10).asReadOnlyBuffer(), 0),
                    RangeRead.of(file, ByteBuffer.allocate(10), -1),
                    RangeRead.of(file, MemoryRange.ofSegment(arena.allocate(10)), 0));
            for (RangeRead bad : refused) {
                assertThat(catchThrowableOfType(
                        CuFileException.class, () -> driver.readRangesAsync(List.of(good, bad)))).isNotNull();
            }
        }
        assertThat(array).containsOnly(0);
        assertThat(driver.readRangesAsync(List.of())).isEmpty();
        assertThat(driver.readRangesAsync(List.of(RangeRead.of(file, ByteBuffer.allocate(0), 7))).getFirst())
                .isCompletedWithValue(0L);
    }

    /** A refused call and a finished one let go of files and memory: both can be closed at once. */
    @Test
    void callbackMayCloseTheMemoryOfItsRange() throws IOException {
        CuFileHandle other = driver.openFile(folder.resolve("data"));
        MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, 8192);
        List<CompletableFuture<Long>> futures = driver.readRangesAsync(List.of(
                RangeRead.of(other, memory, 4096), RangeRead.of(file, ByteBuffer.allocate(10), 0)));
        CompletableFuture<Boolean> closed = futures.getFirst().thenApply(bytes -> {
            boolean same = memory.segment().mismatch(MemorySegment.ofArray(expected(4096, 8192))) == -1;
            memory.close();
            other.close();
            return same && bytes == 8192;
        });
        assertThat(closed.join()).isTrue();
        assertThat(futures.getLast().join()).isEqualTo(10);
        MemoryAllocation unused = driver.allocator().allocate(MemoryKind.HOST, 8192);
        assertThat(catchThrowableOfType(CuFileException.class, () -> driver.readRangesAsync(List.of(
                RangeRead.of(file, unused, 0), RangeRead.of(other, ByteBuffer.allocate(10), 0)))).error())
                .isEqualTo(CuFileError.HANDLE_NOT_REGISTERED);
        unused.close();
    }

    @Test
    void failureOfARangeIsThatOfItsFuture() throws IOException {
        Path gone = Files.write(folder.resolve("gone"), CONTENT);
        try (CuFileHandle unreadable = driver.openFile(gone, StandardOpenOption.WRITE)) {
            assertThat(catchThrowableOfType(CuFileException.class, () -> driver.readRangesAsync(List.of(
                    RangeRead.of(unreadable, ByteBuffer.allocate(10), 0)))).error())
                    .isEqualTo(CuFileError.INVALID_FILE_OPEN_FLAG);
        }
        rig.posix().on(PosixCall.PREAD).always().fails(Errno.EIO);
        List<CompletableFuture<Long>> futures = driver.readRangesAsync(List.of(
                RangeRead.of(file, ByteBuffer.allocate(10), 0),
                RangeRead.of(file, ByteBuffer.allocateDirect(10), 100)));
        for (CompletableFuture<Long> future : futures) {
            assertThat(catchThrowableOfType(CompletionException.class, future::join).getCause())
                    .isInstanceOf(CuFileException.class);
        }
    }

    /** Each future is complete though the driver is closed in the middle, and nothing stays held. */
    @Test
    void driverThatIsClosedInTheMiddleCompletesAllFutures() throws Exception {
        List<RangeRead> ranges = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            ranges.add(RangeRead.of(file, ByteBuffer.allocate(100_000), i * 9000L));
        }
        List<CompletableFuture<Long>> futures = driver.readRangesAsync(ranges);
        file.close();
        for (int i = 0; i < ranges.size(); i++) {
            // close waits for the reads; a future completes after its memory is released
            assertThat(futures.get(i).get(1, TimeUnit.MINUTES)).isEqualTo(expected(i * 9000L, 100_000).length);
        }
    }
}
