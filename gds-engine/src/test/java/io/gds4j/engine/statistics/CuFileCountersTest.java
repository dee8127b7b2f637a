package io.gds4j.engine.statistics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.Operation;
import io.gds4j.statistics.GpuStatistics;
import io.gds4j.statistics.IoPath;
import io.gds4j.statistics.OperationCount;
import io.gds4j.statistics.StatisticsLevel1;
import java.lang.reflect.Proxy;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The counters of both backends. The contract tests which requests count; this class tests the calls of a backend. */
class CuFileCountersTest {
    private static final MemoryRange HOST = MemoryRange.ofAddress(4096, 8192, MemoryKind.HOST);

    private static final BackendFile FILE = (BackendFile) Proxy.newProxyInstance(
            BackendFile.class.getClassLoader(), new Class<?>[]{BackendFile.class}, (file, method, arguments) -> {
                throw new AssertionError("statistics do not use the file");
            });

    private final CuFileCounters counters = new CuFileCounters(new CudaAvailability.Unavailable("none", "none"));

    private static MemoryRange ofGpu(int gpu) {
        return MemoryRange.ofAddress(4096, 8192, MemoryKind.CUDA_DEVICE, gpu);
    }

    private static void count(CuFileCounters counters, IoPath path, MemoryRange memory, long size, boolean well) {
        long begun = counters.begin(Operation.READ, memory);
        if (begun != 0) {
            counters.end(begun, path, Operation.READ, memory, size, 0, 0, well, well ? size : 0);
        }
    }

    private static CuFileCounters started(CuFileCounters counters, int level) {
        counters.setLevel(level);
        counters.start();
        return counters;
    }

    @Test
    void nothingIsCountedBeforeALevelIsSetAndItWasStarted() {
        assertThat(counters.begin(Operation.READ, HOST)).isZero();
        counters.start();
        assertThat(counters.begin(Operation.READ, HOST)).isZero();
        counters.setLevel(1);
        assertThat(counters.begin(Operation.READ, HOST)).isNotZero();
        counters.stop();
        assertThat(counters.begin(Operation.READ, HOST)).isZero();
    }

    @ParameterizedTest
    @CsvSource({"0, 0", "4095, 0", "4096, 1", "8191, 1", "8192, 2", "65536, 5", "1099511627776, 29",
            "9223372036854775807, 31"})
    void sizesDoubleFromBucketToBucket(long size, int bucket) {
        count(started(counters, 2), IoPath.LIBCUFILE_POSIX, HOST, size, true);
        List<Long> histogram = counters.level2().readSizeKbHistogram();
        assertThat(histogram).hasSize(32);
        assertThat(histogram.indexOf(1L)).isEqualTo(bucket);
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, 4})
    void otherLevelIsInvalidAndChangesNothing(int level) {
        started(counters, 2);
        assertThatExceptionOfType(CuFileException.class).isThrownBy(() -> counters.setLevel(level))
                .extracting(CuFileException::error)
                .isEqualTo(CuFileError.INVALID_VALUE);
        assertThat(counters.level()).isEqualTo(2);
    }

    @Test
    void configuredLevelCountsAtOnceUnlessTheProgramHasSetOne() {
        counters.open(3);
        assertThat(counters.level()).isEqualTo(3);
        assertThat(counters.begin(Operation.READ, HOST)).isNotZero();
        counters.close();
        counters.setLevel(1);
        counters.open(3);
        assertThat(counters.level()).isEqualTo(1);
        assertThat(counters.begin(Operation.READ, HOST)).isZero();
    }

    @ParameterizedTest
    @EnumSource
    void readsOfAGpuAreCountedByPath(IoPath path) {
        CuFileCounters ofGpus = started(new CuFileCounters(new FakeCuda(2, 1 << 20).available()), 3);
        count(ofGpus, path, ofGpu(1), 4096, true);
        count(ofGpus, path, ofGpu(1), 4096, false);
        count(ofGpus, path, HOST, 4096, true);
        GpuStatistics gpu = ofGpus.level3().gpus().get(1);
        assertThat(gpu.totalReads()).isEqualTo(2);
        assertThat(gpu.readErrors()).isEqualTo(1);
        assertThat(gpu.nvfsReads()).isEqualTo(path == IoPath.NVFS ? 2 : 0);
        assertThat(gpu.p2pReads()).isEqualTo(path == IoPath.P2PDMA ? 2 : 0);
        assertThat(gpu.posixReads()).isEqualTo(path == IoPath.NVFS || path == IoPath.P2PDMA ? 0 : 2);
        assertThat(ofGpus.level3().gpus().getFirst().totalReads()).isZero();
        assertThat(ofGpus.level1().readOps()).isEqualTo(new OperationCount(2, 1));
    }

    @Test
    void batchEntriesAreCountedByPathAndInTotal() {
        started(counters, 1);
        submitted(true, IoPath.NVFS, 2);
        submitted(true, IoPath.P2PDMA, 3);
        submitted(true, IoPath.LIBCUFILE_POSIX, 4);
        submitted(false, IoPath.COMPAT_DIRECT, 5);
        counters.batchProcessed(IoPath.NVFS, Operation.READ, true, 100, System.nanoTime());
        counters.batchProcessed(IoPath.LIBCUFILE_POSIX, Operation.WRITE, false, 0, System.nanoTime());
        StatisticsLevel1 counted = counters.level1();
        assertThat(counted.batchEnqueuedOps()).isEqualTo(new OperationCount(9, 5));
        assertThat(counted.batchTotalSubmitOps()).isEqualTo(new OperationCount(9, 5));
        assertThat(counted.batchNvfsSubmitOps()).isEqualTo(new OperationCount(2, 0));
        assertThat(counted.batchP2pSubmitOps()).isEqualTo(new OperationCount(3, 0));
        assertThat(counted.batchPosixEnqueuedOps()).isEqualTo(new OperationCount(4, 5));
        assertThat(counted.batchMixedIoSubmitOps()).isEqualTo(new OperationCount(4, 5));
        assertThat(counted.batchProcessedOps()).isEqualTo(new OperationCount(1, 1));
        assertThat(counted.batchPosixProcessedOps()).isEqualTo(new OperationCount(0, 1));
        assertThat(counted.batchReadBytes()).isEqualTo(100);
        assertThat(counted.batchSubmitOps()).isEqualTo(new OperationCount(3, 1));
        assertThat(counted.lastBatchReadBytes()).as("of the last accepted batch").isEqualTo(4 * 10);
    }

    private void submitted(boolean well, IoPath path, int entries) {
        BatchRequest request = new BatchRequest(FILE, Operation.READ, HOST, 10, 0, 0, 0);
        counters.batchSubmitted(well, Collections.nCopies(entries, request), entry -> path, System.nanoTime());
    }

    @Test
    void requestsBegunBeforeStopAreCounted() {
        started(counters, 1);
        long begun = counters.begin(Operation.WRITE, HOST);
        counters.stop();
        counters.end(begun, IoPath.NVFS, Operation.WRITE, HOST, 10, 0, 0, true, 10);
        assertThat(counters.level1().writeOps()).isEqualTo(new OperationCount(1, 0));
        counters.reset();
        assertThat(counters.level1().writeOps()).isEqualTo(new OperationCount(0, 0));
    }

    @Test
    void pathsWithoutBytesAreAbsent() {
        PathCounters paths = new PathCounters();
        paths.add(IoPath.NVFS, 5);
        paths.add(IoPath.NVFS, 6);
        paths.add(IoPath.P2PDMA, 0);
        assertThat(paths.snapshot()).containsExactly(Map.entry(IoPath.NVFS, 11L));
        paths.retry();
        assertThat(paths.retries()).isOne();
    }
}
