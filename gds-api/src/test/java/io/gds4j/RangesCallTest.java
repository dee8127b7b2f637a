package io.gds4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.spi.BatchRequest;
import io.gds4j.statistics.IoPath;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which ranges a call of readRanges takes, and what it tells of each, whatever requests it makes of them. */
class RangesCallTest {
    private static final int SIZE = 4096;

    private final List<BatchRequest> requests = new ArrayList<>();
    private final RecordingBackend backend = new RecordingBackend() {
        /** The first half comes from the page cache, and the other one from the disk. */
        @Override
        public synchronized long transfer(BatchRequest request) {
            requests.add(request);
            long half = request.size() / 2;
            request.sink().moved(IoPath.COMPAT_CACHED, request.fileOffset(), half);
            request.sink().moved(IoPath.COMPAT_DIRECT, request.fileOffset() + half, request.size() - half);
            return request.size();
        }
    };
    private final CuFileDriver driver = CuFileDriver.open(backend);
    private final CuFileHandle handle = driver.openFile(Path.of("/data/a"));
    private final MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, 4L * SIZE);

    @AfterEach
    void close() {
        memory.close();
        driver.close();
    }

    private RangeRead range(long size, long fileOffset, long bufferOffset) {
        return RangeRead.of(handle, memory.range(), size, fileOffset, bufferOffset);
    }

    @ParameterizedTest
    @CsvSource({"0, 100, 99, 100", "99, 100, 0, 100", "0, 100, 0, 1", "0, 1, 0, 100", "10, 20, 29, 1", "29, 1, 10, 20"})
    void destinationsThatShareAByteAreRefused(long first, long firstSize, long second, long secondSize) {
        CuFileException refused = catchThrowableOfType(CuFileException.class, () -> driver.readRanges(
                List.of(range(1, 0, 4000), range(firstSize, SIZE, first), range(secondSize, 4L * SIZE, second))));
        assertThat(refused.error()).isEqualTo(CuFileError.INVALID_VALUE);
        assertThat(refused.detail()).contains("ranges 1 and 2 overlap");
        assertThat(requests).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"0, 100, 100, 100", "100, 100, 0, 100", "5, 0, 0, 100", "0, 1, 1, 1"})
    void destinationsThatTouchAreServed(long first, long firstSize, long second, long secondSize) {
        IoResults results = new IoResults();
        driver.readRanges(
                List.of(range(firstSize, SIZE, first), range(secondSize, 4L * SIZE, second)), results);
        assertThat(results.isComplete()).isTrue();
    }

    /** One request serves all three; each range has the bytes that are its own. */
    @Test
    void bytesByPathAreThoseOfTheRange() {
        IoResults results = new IoResults();
        driver.readRanges(List.of(range(100, 1000, 0), range(300, 1100, 1000), range(400, 1400, 2000)), results);
        assertThat(requests).hasSize(1);
        assertThat(results.get(0).bytesByPath()).isEqualTo(Map.of(IoPath.COMPAT_CACHED, 100L));
        assertThat(results.get(1).bytesByPath()).isEqualTo(Map.of(IoPath.COMPAT_CACHED, 300L));
        assertThat(results.get(2).bytesByPath()).isEqualTo(Map.of(IoPath.COMPAT_DIRECT, 400L));

        driver.readRanges(List.of(range(100, 1000, 0), range(500, 1100, 1000)), results);
        assertThat(results.get(0).bytesByPath()).isEqualTo(Map.of(IoPath.COMPAT_CACHED, 100L));
        assertThat(results.get(1).bytesByPath())
                .isEqualTo(Map.of(IoPath.COMPAT_CACHED, 200L, IoPath.COMPAT_DIRECT, 300L));
    }

    /** Ranges may overlap in the file: bytes that both asked for are counted for both. */
    @Test
    void bytesOfTwoRangesCountForBoth() {
        IoResults results = new IoResults();
        driver.readRanges(List.of(range(600, 0, 0), range(600, 400, 1000)), results);
        assertThat(requests).hasSize(1);
        assertThat(results.get(0).bytesByPath())
                .isEqualTo(Map.of(IoPath.COMPAT_CACHED, 500L, IoPath.COMPAT_DIRECT, 100L));
        assertThat(results.get(1).bytesByPath())
                .isEqualTo(Map.of(IoPath.COMPAT_CACHED, 100L, IoPath.COMPAT_DIRECT, 500L));
    }
}
