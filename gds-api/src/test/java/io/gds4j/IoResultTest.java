package io.gds4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.spi.StreamRequest;
import io.gds4j.statistics.IoPath;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Reports of requests that fail as no backend should fail: each has the failure, and serves another request. */
class IoResultTest {
    private static final Path FILE = Path.of("/data/a");
    private static final int SIZE = 4096;

    /** What the stream's operations do. */
    private final AtomicReference<Runnable> queueing = new AtomicReference<>(() -> {
    });
    private final AtomicReference<StreamRequest> queued = new AtomicReference<>();
    private final RecordingBackend backend = new RecordingBackend() {
        @Override
        public void readAsync(StreamRequest request) {
            queued.set(request);
            queueing.get().run();
        }
    };
    private final CuFileDriver driver = CuFileDriver.open(backend);
    private final CuFileHandle handle = driver.openFile(FILE);
    private final MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, 2 * SIZE);
    private final IoResult result = new IoResult();

    @AfterEach
    void close() {
        memory.close();
        driver.close();
    }

    /** A request of {@link #SIZE} bytes from offset 77, reported to {@link #result}. */
    private interface Request {
        void run();
    }

    private List<Request> requests() {
        return List.of(
                () -> handle.read(memory, SIZE, 77, 0, result),
                () -> handle.readScattered(77, SIZE, List.of(new ScatterCopy(0, SIZE, memory, 0)), result),
                () -> unwrapped(() -> handle.readAsync(memory, SIZE, 77, 0, result).join()));
    }

    private static void unwrapped(Runnable future) {
        try {
            future.run();
        } catch (CompletionException e) {
            throw e.getCause() instanceof RuntimeException cause ? cause : e;
        }
    }

    private void failReads(RuntimeException failure) {
        backend.during("read", () -> {
            throw failure;
        });
    }

    private void serves(IoResult report) {
        backend.during("read", () -> {
        });
        assertThat(handle.read(memory, SIZE, 0, 0, report)).isEqualTo(SIZE);
        assertThat(report.isComplete()).isTrue();
    }

    @Test
    void segmentThatCannotBeReadIntoIsAnErrorOfTheReport() {
        serves(result);
        MemorySegment closed;
        try (Arena arena = Arena.ofConfined()) {
            closed = arena.allocate(SIZE);
        }
        CuFileException thrown = catchThrowableOfType(CuFileException.class, () -> handle.read(closed, 77, result));
        assertThat(result.error()).containsSame(thrown);
        assertThat(result.isComplete()).isFalse();
        serves(result);
    }

    /** A report without an error would tell of the end of the file. */
    @Test
    void defectsAreErrorsOfTheReport() {
        IllegalStateException defect = new IllegalStateException("broken");
        for (Request request : requests()) {
            failReads(defect);
            assertThatThrownBy(request::run).isSameAs(defect);
            CuFileException error = result.error().orElseThrow();
            assertThat(error).hasCause(defect);
            assertNamed(error);
            assertThat(result.isComplete()).isFalse();
            serves(result);
        }
    }

    @Test
    void defectsAreErrorsOfEachRangeThatWasNotRead() {
        IllegalStateException defect = new IllegalStateException("broken");
        failReads(defect);
        IoResults results = new IoResults();
        assertThatThrownBy(() -> driver.readRanges(
                List.of(RangeRead.of(handle, memory, SIZE, 77, 0), RangeRead.of(handle, memory, SIZE, 1 << 20, SIZE)),
                results)).isSameAs(defect);
        for (IoResult each : results) {
            assertThat(each.error().orElseThrow()).hasCause(defect);
        }
        assertNamed(results.get(0).error().orElseThrow());
        serves(results.get(1));
    }

    private static void assertNamed(CuFileException error) {
        assertThat(error.function()).isEqualTo("cuFileRead");
        assertThat(error.path()).contains(FILE);
        assertThat(error.fileOffset()).hasValue(77);
        assertThat(error.size()).hasValue(SIZE);
    }

    /** A call that only helps a request, such as one that asks for a context, knows no file. */
    @Test
    void failuresOfHelpingCallsNameFileAndRange() {
        CuFileException bare = CuFileException.of(CuFileError.CUDA_DRIVER_ERROR, "cuCtxGetId", "no context");
        List<Request> requests = new ArrayList<>(requests());
        requests.add(() -> handle.read(memory, SIZE, 77, 0));
        requests.add(() -> driver.readRanges(List.of(RangeRead.of(handle, memory, SIZE, 77, 0))));
        for (Request request : requests) {
            failReads(bare);
            CuFileException error = catchThrowableOfType(CuFileException.class, request::run);
            assertNamed(error);
            assertThat(error).hasMessageContaining("no context").hasCause(bare);
            assertThat(error.error()).isEqualTo(CuFileError.CUDA_DRIVER_ERROR);
        }
    }

    @Test
    void failuresOfAClosedDriverAreErrorsOfTheReports() {
        IoResults results = new IoResults();
        List<RangeRead> ranges = List.of(RangeRead.of(handle, memory, SIZE, 0, 0));
        driver.readRanges(ranges, results);
        assertThat(results.isComplete()).isTrue();
        driver.close();
        CuFileException error = catchThrowableOfType(CuFileException.class, () -> driver.readRanges(ranges, results));
        assertThat(error.error()).isEqualTo(CuFileError.DRIVER_NOT_INITIALIZED);
        assertThat(results.get(0).error()).containsSame(error);
        assertThat(results.isComplete()).isFalse();
    }

    /** The report of a range is one that other requests may use, too, but not at the same time. */
    @Test
    void aReportOfARangeServesOneRequest() {
        IoResults results = new IoResults();
        List<RangeRead> ranges = List.of(RangeRead.of(handle, memory, SIZE, 0, 0));
        driver.readRanges(ranges, results);
        IoResult first = results.get(0);
        List<CuFileException> refused = new ArrayList<>();
        backend.during("read", () -> {
            backend.during("read", () -> {
            });
            refused.add(catchThrowableOfType(CuFileException.class, () -> handle.read(memory, SIZE, 0, 0, first)));
        });
        driver.readRanges(ranges, results);
        assertThat(refused).singleElement().extracting(CuFileException::error).isEqualTo(CuFileError.INVALID_VALUE);

        backend.during("read", () -> {
            backend.during("read", () -> {
            });
            refused.add(catchThrowableOfType(CuFileException.class, () -> driver.readRanges(ranges, results)));
        });
        handle.read(memory, SIZE, 0, 0, first);
        assertThat(refused.getLast().error()).isEqualTo(CuFileError.INVALID_VALUE);
        assertThat(first.isComplete()).isTrue();
        driver.readRanges(ranges, results);
        assertThat(results.isComplete()).isTrue();
    }

    /** CUDA may refuse a call that follows the operation's own: the caller gets an exception, and so does the report. */
    @Test
    void aRefusedOperationThatTheStreamHasPassedReportsTheFailure() {
        CuFileException refused = CuFileException.of(CuFileError.CUDA_DRIVER_ERROR, "cuEventRecord", "refused");
        queueing.set(() -> {
            StreamRequest request = queued.get();
            request.sink().begin(0, SIZE);
            request.sink().moved(IoPath.COMPAT_BUFFERED, 0, SIZE);
            request.sink().end(SIZE);
            throw refused;
        });
        try (CuFileStream stream = driver.stream(9, Set.of())) {
            CuFileException thrown = catchThrowableOfType(
                    CuFileException.class, () -> stream.read(handle, memory, SIZE, 0, 0, result));
            assertThat(thrown).hasCause(refused);
            assertThat(thrown.path()).contains(FILE);
            assertThat(result.error()).containsSame(thrown);
            assertThat(result.isComplete()).isFalse();
        }
        serves(result);
    }

    @Test
    void aStreamThatFailsBehindTheResultCorrectsTheReportUnlessAnotherRequestHasIt() {
        try (CuFileStream stream = driver.stream(9, Set.of())) {
            queueing.set(() -> queued.get().sink().end(SIZE));
            stream.read(handle, memory, SIZE, 0, 0, result);
            StreamRequest first = queued.get();
            first.sink().end(-CuFileError.CUDA_DRIVER_ERROR.code());
            assertThat(result.error().orElseThrow().error()).isEqualTo(CuFileError.CUDA_DRIVER_ERROR);
            assertThat(result.moved()).isZero();

            serves(result);
            first.sink().end(-CuFileError.CUDA_DRIVER_ERROR.code());
            assertThat(result.isComplete()).isTrue();
        }
    }

    /** A failed allocation before the stream reaches the operation, for example. */
    @Test
    void anOperationThatEndsBeforeTheStreamReachesItNamesItsRange() {
        queueing.set(() -> queued.get().sink().end(-CuFileError.NOMEM_ERROR.code()));
        try (CuFileStream stream = driver.stream(9, Set.of())) {
            stream.read(handle, memory, SIZE, 77, 0, result);
        }
        CuFileException error = result.error().orElseThrow();
        assertThat(error.error()).isEqualTo(CuFileError.NOMEM_ERROR);
        assertThat(error.path()).contains(FILE);
        assertThat(error.fileOffset()).hasValue(77);
        assertThat(error.size()).hasValue(SIZE);
    }

    @Test
    void aDefectOfAStreamFreesTheReport() {
        IllegalStateException defect = new IllegalStateException("broken");
        queueing.set(() -> {
            throw defect;
        });
        try (CuFileStream stream = driver.stream(9, Set.of())) {
            assertThatThrownBy(() -> stream.read(handle, memory, SIZE, 0, 0, result)).isSameAs(defect);
        }
        assertThat(result.error().orElseThrow()).hasCause(defect);
        serves(result);
    }
}
