package io.gds4j.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.config.BoolParameter;
import io.gds4j.config.SizeParameter;
import io.gds4j.config.SlabArray;
import io.gds4j.config.StringParameter;
import io.gds4j.config.TargetType;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryKind;
import io.gds4j.spi.BackendBatch;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.FileSource;
import io.gds4j.spi.StreamRequest;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.GuardedMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Contract of functions that a backend does not implement: IO_NOT_SUPPORTED and a message that names the function.
 *
 * @since 0.1
 */
public abstract class UnbuiltContract extends BackendContract {
    private static final int PAGE = 4096;

    /** For subclasses. */
    protected UnbuiltContract() {
    }

    private final class Arguments implements AutoCloseable {
        final CuFileBackend backend = backend().createBackend(backend().config());
        final GuardedMemory memory = memory(MemoryKind.HOST, PAGE);
        final BackendFile file;
        final Arena arena = Arena.ofShared();

        Arguments() {
            backend.driverOpen();
            file = backend.handleRegister(
                    FileSource.Named.of(newFile(PAGE).path(), StandardOpenOption.READ, StandardOpenOption.WRITE));
        }

        StreamRequest streamRequest() {
            MemorySegment cell = arena.allocate(8);
            return new StreamRequest(file, memory.range(), cell, cell, cell, cell, 0);
        }

        @Override
        public void close() {
            backend.driverClose();
            memory.close();
            arena.close();
        }
    }

    private record Batch(int capacity) implements BackendBatch {
    }

    /** Functions that cuFile added after 1.0, by C name. */
    private static Map<String, Consumer<Arguments>> functions() {
        BackendBatch batch = new Batch(1);
        SlabArray slabs = new SlabArray(List.of(4096L), List.of(1L));
        Map<String, Consumer<Arguments>> all = new TreeMap<>();
        all.put("cuFileUseCount", with -> with.backend.useCount());
        all.put("cuFileBatchIOSetUp", with -> with.backend.batchIoSetUp(1));
        all.put("cuFileBatchIOSubmit", with -> with.backend.batchIoSubmit(batch, List.of(), 0));
        all.put("cuFileBatchIOGetStatus", with -> with.backend.batchIoGetStatus(batch, 0, 1, Optional.empty()));
        all.put("cuFileBatchIOCancel", with -> with.backend.batchIoCancel(batch));
        all.put("cuFileBatchIODestroy", with -> with.backend.batchIoDestroy(batch));
        all.put("cuFileReadAsync", with -> with.backend.readAsync(with.streamRequest()));
        all.put("cuFileWriteAsync", with -> with.backend.writeAsync(with.streamRequest()));
        all.put("cuFileStreamRegister", with -> with.backend.streamRegister(0, 0));
        all.put("cuFileStreamDeregister", with -> with.backend.streamDeregister(0));
        all.put("cuFileGetVersion", with -> with.backend.controls().getVersion());
        all.put("cuFileGetParameterSizeT", with -> with.backend.controls().getParameter(SizeParameter.values()[0]));
        all.put("cuFileGetParameterBool", with -> with.backend.controls().getParameter(BoolParameter.values()[0]));
        all.put("cuFileGetParameterString", with -> with.backend.controls().getParameter(StringParameter.values()[0]));
        all.put("cuFileSetParameterSizeT", with -> with.backend.controls().setParameter(SizeParameter.values()[0], 1L));
        all.put("cuFileSetParameterBool",
                with -> with.backend.controls().setParameter(BoolParameter.values()[0], true));
        all.put(
                "cuFileSetParameterString",
                with -> with.backend.controls().setParameter(StringParameter.values()[0], ""));
        all.put(
                "cuFileGetParameterMinMaxValue",
                with -> with.backend.controls().getParameterMinMaxValue(SizeParameter.values()[0]));
        all.put("cuFileSetStatsLevel", with -> with.backend.controls().setStatsLevel(1));
        all.put("cuFileGetStatsLevel", with -> with.backend.controls().getStatsLevel());
        all.put("cuFileStatsStart", with -> with.backend.controls().statsStart());
        all.put("cuFileStatsStop", with -> with.backend.controls().statsStop());
        all.put("cuFileStatsReset", with -> with.backend.controls().statsReset());
        all.put("cuFileGetStatsL1", with -> with.backend.controls().getStatsL1());
        all.put("cuFileGetStatsL2", with -> with.backend.controls().getStatsL2());
        all.put("cuFileGetStatsL3", with -> with.backend.controls().getStatsL3());
        all.put("cuFileGetBARSizeInKB", with -> with.backend.controls().getBarSizeInKb(0));
        all.put(
                "cuFileSetParameterPosixPoolSlabArray",
                with -> with.backend.controls().setParameterPosixPoolSlabArray(slabs));
        all.put("cuFileGetParameterPosixPoolSlabArray",
                with -> with.backend.controls().getParameterPosixPoolSlabArray());
        all.put("cuFileDriverSetP2PFlags", with -> with.backend.controls().driverSetP2pFlags(TargetType.NVME, 1));
        all.put("cuFileDriverGetP2PFlags", with -> with.backend.controls().driverGetP2pFlags(TargetType.NVME));
        all.put("cuFileExportPCIeTopology", with -> with.backend.controls().exportPcieTopology(
                with.file.path().orElseThrow().resolveSibling("topology")));
        all.put(
                "cuFileSetParameterGpuBounceBufferSlabArray",
                with -> with.backend.controls().setParameterGpuBounceBufferSlabArray(slabs));
        all.put(
                "cuFileGetParameterGpuBounceBufferSlabArray",
                with -> with.backend.controls().getParameterGpuBounceBufferSlabArray());
        all.put("cuFileReadv", with -> with.backend.readv(with.file, List.of(with.memory.range()), 0, 0));
        all.put("cuFileWritev", with -> with.backend.writev(with.file, List.of(with.memory.range()), 0, 0));
        return all;
    }

    final Stream<String> unbuilt() {
        return backend().unbuiltFunctions().stream().sorted();
    }

    @Test
    void unbuiltFunctionsAreFunctionsOfCuFile() {
        assertThat(functions().keySet()).containsAll(backend().unbuiltFunctions());
    }

    @ParameterizedTest(allowZeroInvocations = true)
    @MethodSource("unbuilt")
    void unbuiltFunctionIsReported(String function) {
        try (Arguments arguments = new Arguments()) {
            CuFileException failure = Failures.expect(
                    CuFileError.IO_NOT_SUPPORTED,
                    () -> functions().get(function).accept(arguments));
            assertThat(failure.function()).isEqualTo(function);
            assertThat(failure.detail())
                    .as("text of the refusal")
                    .isNotEqualTo(CuFileError.IO_NOT_SUPPORTED.text())
                    .contains(arguments.backend.name());
            arguments.memory.verify();
        }
    }

    @Test
    void programSeesTheSameRefusal() {
        if (!backend().unbuiltFunctions().contains("cuFileBatchIOSetUp")) {
            return;
        }
        try (CuFileDriver driver = newDriver()) {
            CuFileException failure = Failures.expect(CuFileError.IO_NOT_SUPPORTED, () -> driver.batch(8));
            assertThat(failure).hasMessageContaining("cuFileBatchIOSetUp").hasMessageContaining("5008");
        }
    }
}
