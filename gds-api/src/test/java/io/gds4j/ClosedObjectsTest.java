package io.gds4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.config.BoolParameter;
import io.gds4j.config.SizeParameter;
import io.gds4j.config.StringParameter;
import io.gds4j.config.TargetType;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The error of every method after its object or the driver is closed. */
class ClosedObjectsTest {
    private static final MemoryRange MEMORY = MemoryRange.ofAddress(1 << 20, 4096, MemoryKind.HOST);

    /** One object of each type that a session creates. */
    private static final class OpenObjects {
        final RecordingBackend backend = new RecordingBackend();
        final CuFileDriver driver = CuFileDriver.open(backend);
        final CuFileHandle handle = driver.openFile(Path.of("/data/a"));
        final CuFileBuffer buffer = driver.registerBuffer(MEMORY);
        final CuFileBatch batch = driver.batch(4);
        final CuFileStream stream = driver.stream(9, Set.of());
        final CuFileStatistics statistics = driver.statistics();
        final MemorySegment cell = Arena.ofAuto().allocate(8, 8);
        final CuFileStream.Cells cells = new CuFileStream.Cells(cell, cell, cell, cell);
        final List<CuFileBatch.Request> requests = List.of(CuFileBatch.Request.read(handle, MEMORY, 8, 0, 0));
    }

    private interface Call {
        void on(OpenObjects objects);
    }

    private OpenObjects objects;

    @BeforeEach
    void open() {
        objects = new OpenObjects();
    }

    static Stream<Arguments> driverCalls() {
        return Stream.of(
                row("cuFileDriverOpen", o -> o.driver.share()),
                row("MemoryAllocator", o -> o.driver.allocator()),
                row("cuFileHandleRegister", o -> o.driver.openFile(Path.of("x"))),
                row("cuFileHandleRegister", o -> o.driver.registerDescriptor(0)),
                row("cuFileBufRegister", o -> o.driver.registerBuffer(MEMORY)),
                row("cuFileBatchIOSetUp", o -> o.driver.batch(1)),
                row("cuFileStreamRegister", o -> o.driver.stream(1, Set.of())),
                row("cuFileDriverGetProperties", o -> o.driver.properties()),
                row("cuFileDriverSetPollMode", o -> o.driver.setPollMode(true, 4)),
                row("cuFileDriverSetMaxDirectIOSize", o -> o.driver.setMaxDirectIoSize(64)),
                row("cuFileDriverSetMaxDirectIOSize", o -> o.driver.setMaxDirectIoSize(7)),
                row("cuFileDriverSetMaxCacheSize", o -> o.driver.setMaxCacheSize(64)),
                row("cuFileDriverSetMaxPinnedMemSize", o -> o.driver.setMaxPinnedMemSize(64)),
                row("cuFileGetParameterSizeT", o -> o.driver.parameter(SizeParameter.PROFILE_STATS)),
                row("cuFileGetParameterBool", o -> o.driver.parameter(BoolParameter.PROFILE_NVTX)),
                row("cuFileGetParameterString", o -> o.driver.parameter(StringParameter.LOG_DIR)),
                row("cuFileGetParameterMinMaxValue", o -> o.driver.parameterRange(SizeParameter.PROFILE_STATS)),
                row("cuFileGetParameterPosixPoolSlabArray", o -> o.driver.posixPoolSlabs()),
                row("cuFileGetBARSizeInKB", o -> o.driver.barSizeInKb(0)),
                row("cuFileDriverGetP2PFlags", o -> o.driver.p2pFlags(TargetType.NVME)),
                row("cuFileDriverSetP2PFlags", o -> o.driver.setP2pFlags(TargetType.NVME, Set.of(P2pFlag.PCI_P2PDMA))),
                row("cuFileExportPCIeTopology", o -> o.driver.exportPcieTopology(Path.of("x"))),
                row("cuFileGetParameterGpuBounceBufferSlabArray", o -> o.driver.gpuBounceBufferSlabs()),
                row("cuFileStatsStart", o -> o.statistics.start()),
                row("cuFileStatsStop", o -> o.statistics.stop()),
                row("cuFileStatsReset", o -> o.statistics.reset()),
                row("cuFileGetStatsL1", o -> o.statistics.level1()),
                row("cuFileGetStatsL2", o -> o.statistics.level2()),
                row("cuFileGetStatsL3", o -> o.statistics.level3()));
    }

    static Stream<Arguments> handleCalls() {
        return Stream.of(
                row("cuFileRead", o -> o.handle.read(MEMORY, 0)),
                row("cuFileRead", o -> o.handle.read(o.buffer, 8, 0, 0)),
                row("cuFileWrite", o -> o.handle.write(MEMORY, 0)),
                row("cuFileReadv", o -> o.handle.readv(List.of(MEMORY), 0)),
                row("cuFileWritev", o -> o.handle.writev(List.of(MEMORY), 0)),
                row("fstat", o -> o.handle.size()),
                row("ioPath", o -> o.handle.ioPath()),
                row("waitsForDisk", o -> o.handle.waitsForDisk(0, 1)),
                row("fsync", o -> o.handle.force(true)),
                row("fdatasync", o -> o.handle.force(false)),
                row("ftruncate", o -> o.handle.truncate(0)));
    }

    private static Arguments row(String function, Call call) {
        return Arguments.of(function, call);
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("driverCalls")
    void closedDriverThrowsNotInitialized(String function, Call call) {
        objects.driver.close();
        expect(CuFileError.DRIVER_NOT_INITIALIZED, function, call);
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("driverCalls")
    void closedUserOfSharedDriverThrowsNotInitialized(String function, Call call) {
        CuFileDriver other = objects.driver.share();
        objects.driver.close();
        expect(CuFileError.DRIVER_NOT_INITIALIZED, function, call);
        other.close();
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("handleCalls")
    void closedHandleThrowsNotRegistered(String function, Call call) {
        objects.handle.close();
        expect(CuFileError.HANDLE_NOT_REGISTERED, function, call);
        objects.driver.close();
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("handleCalls")
    void handleOfClosedDriverThrowsNotInitialized(String function, Call call) {
        objects.driver.close();
        expect(CuFileError.DRIVER_NOT_INITIALIZED, function, call);
    }

    static Stream<Arguments> others() {
        return Stream.of(
                Arguments.of(
                        CuFileError.INTERNAL_BATCH_SUBMIT_ERROR,
                        "cuFileBatchIOSubmit",
                        (Call) o -> o.batch.submit(o.requests)),
                Arguments.of(
                        CuFileError.INTERNAL_BATCH_GETSTATUS_ERROR,
                        "cuFileBatchIOGetStatus",
                        (Call) o -> o.batch.await(0, Duration.ZERO)),
                Arguments.of(
                        CuFileError.INTERNAL_BATCH_CANCEL_ERROR,
                        "cuFileBatchIOCancel",
                        (Call) o -> o.batch.cancel()),
                Arguments.of(
                        CuFileError.INVALID_VALUE,
                        "cuFileReadAsync",
                        (Call) o -> o.stream.read(o.handle, MEMORY, o.cells)),
                Arguments.of(
                        CuFileError.INVALID_VALUE,
                        "cuFileWriteAsync",
                        (Call) o -> o.stream.write(o.handle, MEMORY, o.cells)));
    }

    @ParameterizedTest(name = "{1}")
    @MethodSource("others")
    void closedBatchOrStreamThrowsCodeOfItsFunction(CuFileError code, String function, Call call) {
        objects.batch.close();
        objects.stream.close();
        expect(code, function, call);
        objects.driver.close();
    }

    @ParameterizedTest(name = "{1}")
    @MethodSource("others")
    void batchOrStreamOfClosedDriverThrowsSameCode(CuFileError code, String function, Call call) {
        objects.driver.close();
        expect(code, function, call);
    }

    private void expect(CuFileError code, String function, Call call) {
        objects.backend.calls.clear();
        CuFileException e = catchThrowableOfType(CuFileException.class, () -> call.on(objects));

        assertThat(e.error()).isEqualTo(code);
        assertThat(e.function()).isEqualTo(function);
        assertThat(objects.backend.calls).isEmpty();
    }
}
