package io.gds4j.libcufile;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.config.SizeParameter;
import io.gds4j.error.CuFileError;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BackendBatch;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.Operation;
import io.gds4j.statistics.GpuStatistics;
import io.gds4j.statistics.OperationCount;
import io.gds4j.statistics.StatisticsLevel1;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** gds4j counts itself. The library never learns of a level, because it crashed while it set up its counters. */
class LibraryStatisticsTest extends SessionRig {
    private static CuFileConfig counting(long level) {
        return CuFileConfig.builder().set(CuFileKeys.PROFILE_CUFILE_STATS, level).build();
    }

    private static void started(CuFileBackend counting, int level) {
        counting.controls().setStatsLevel(level);
        counting.controls().statsStart();
    }

    @Test
    void noFunctionOfStatisticsReachesTheLibrary() {
        started(backend, 3);
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 8192);
        backend.read(file(), memory.range(), 8192, 0, 0);
        backend.controls().statsStop();
        assertThat(backend.controls().getStatsL3().detailed().basic().readBytes()).isEqualTo(8192);
        assertThat(backend.controls().getStatsL2().basic().readOps()).isEqualTo(new OperationCount(1, 0));
        assertThat(backend.controls().getStatsL1().handleRegisterOps()).isEqualTo(new OperationCount(1, 0));
        backend.controls().statsReset();
        assertThat(backend.controls().getStatsL1().readBytes()).isZero();
        assertThat(fake.calls()).noneMatch(call -> call.contains("Stats"));
    }

    @Test
    void configuredLevelCountsFromTheStart() {
        backend.driverClose();
        CuFileBackend counting = machine.backend(counting(3));
        assertThat(counting.controls().getVersion()).isPositive();
        counting.driverOpen();
        assertThat(fake.driver().json()).contains("\"cufile_stats\": 0");
        assertThat(fake.driver().statsLevelAtOpen()).isZero();
        assertThat(fake.callsOf("cuFileSetStatsLevel")).doesNotContain("cuFileSetStatsLevel(3)");
        assertThat(counting.controls().getParameter(SizeParameter.PROFILE_STATS)).isEqualTo(3);
        assertThat(counting.controls().getStatsLevel()).isEqualTo(3);
        counting.handleRegister(source(path));
        assertThat(counting.controls().getStatsL1().handleRegisterOps()).isEqualTo(new OperationCount(1, 0));
        counting.driverClose();
    }

    @Test
    void stagedLevelNeverReachesTheLibrary() {
        backend.driverClose();
        backend.controls().setParameter(SizeParameter.PROFILE_STATS, 2L);
        backend.driverOpen();
        assertThat(backend.controls().getParameter(SizeParameter.PROFILE_STATS)).isEqualTo(2);
        assertThat(backend.controls().getStatsLevel()).isEqualTo(2);
        assertThat(fake.callsOf("cuFileSetParameterSizeT")).contains("cuFileSetParameterSizeT(0, 0)");
        assertThat(fake.driver().json()).contains("\"cufile_stats\": 0");
    }

    /** The library keeps its level over a close: after one, 42 of 42 opens set up counters. */
    @Test
    void openResetsALevelThatOtherCodeRaised() {
        backend.driverClose();
        fake.library().setStatsLevel(3);
        backend.driverOpen();
        assertThat(fake.driver().statsLevelAtOpen()).isZero();
    }

    @Test
    void sessionsHaveTheirOwnLevelsAndCounters() {
        CuFileBackend other = machine.backend(counting(3));
        other.driverOpen();
        started(backend, 1);
        backend.handleRegister(source(path));
        assertThat(backend.controls().getStatsL1().handleRegisterOps().ok()).isOne();
        assertThat(other.controls().getStatsL1().handleRegisterOps().ok()).isZero();
        assertThat(other.controls().getStatsLevel()).isEqualTo(3);
        expect(CuFileError.INVALID_VALUE, backend.controls()::getStatsL2);
        other.driverClose();
    }

    @Test
    void nextOpenStartsAtZero() {
        started(backend, 1);
        backend.handleRegister(source(path));
        backend.driverClose();
        backend.driverOpen();
        assertThat(backend.controls().getStatsLevel()).isOne();
        backend.handleRegister(source(path));
        assertThat(backend.controls().getStatsL1().handleRegisterOps().ok()).as("not started").isZero();
    }

    @Test
    void closedDriverHasALevelButNoCounters() {
        backend.driverClose();
        backend.controls().setStatsLevel(2);
        assertThat(backend.controls().getStatsLevel()).isEqualTo(2);
        expect(CuFileError.INVALID_VALUE, () -> backend.controls().setStatsLevel(4));
        expect(CuFileError.DRIVER_NOT_INITIALIZED, backend.controls()::statsStart);
        expect(CuFileError.DRIVER_NOT_INITIALIZED, backend.controls()::statsStop);
        expect(CuFileError.DRIVER_NOT_INITIALIZED, backend.controls()::statsReset);
        expect(CuFileError.DRIVER_NOT_INITIALIZED, backend.controls()::getStatsL1);
    }

    @Test
    void requestsCountForThePathThatServesTheirFile() {
        backend.driverClose();
        CuFileBackend direct = machine.withDirectStorage().backend();
        direct.driverOpen();
        BackendFile file = direct.handleRegister(source(path));
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 8192);
        started(direct, 3);
        direct.read(file, memory.range(), 4096, 0, 0);
        direct.write(file, memory.range(), 4096, 4096, 4096);
        BackendBatch batch = direct.batchIoSetUp(2);
        direct.batchIoSubmit(
                batch,
                List.of(
                        new BatchRequest(file, Operation.READ, memory.range(), 4096, 0, 0, 1),
                        new BatchRequest(file, Operation.READ, memory.range(), 100, 4096, 4096, 2)),
                0);
        assertThat(direct.batchIoGetStatus(batch, 2, 2, Optional.empty())).hasSize(2);
        GpuStatistics gpu = direct.controls().getStatsL3().gpus().getFirst();
        assertThat(gpu.nvfsReads()).isOne();
        assertThat(gpu.nvfsWrites()).isOne();
        assertThat(gpu.posixReads() + gpu.posixWrites()).isZero();
        StatisticsLevel1 counted = direct.controls().getStatsL1();
        assertThat(counted.batchNvfsSubmitOps()).isEqualTo(new OperationCount(2, 0));
        assertThat(counted.batchPosixEnqueuedOps()).isEqualTo(new OperationCount(0, 0));
        assertThat(counted.batchProcessedOps()).isEqualTo(new OperationCount(2, 0));
        assertThat(counted.batchReadBytes()).isEqualTo(4196);
        assertThat(counted.readOps()).as("calls of cuFileRead").isEqualTo(new OperationCount(1, 0));
        direct.driverClose();
    }

    @Test
    void vectorIsOneRequest() {
        backend.driverClose();
        CuFileBackend later = new FakeMachine(true).backend();
        later.driverOpen();
        BackendFile file = later.handleRegister(source(path));
        try (MemoryAllocation memory = later.allocator().allocate(MemoryKind.CUDA_DEVICE, 8192)) {
            started(later, 3);
            List<MemoryRange> ranges = List.of(memory.range().slice(0, 100), memory.range().slice(4096, 200));
            assertThat(later.readv(file, ranges, 0, 0)).isEqualTo(300);
            assertThat(later.writev(file, ranges, 4096, 0)).isEqualTo(300);
            assertThat(later.readv(file, List.of(), 0, 0)).isZero();
            expect(CuFileError.INVALID_VALUE, () -> later.readv(file, ranges, -1, 0));
        }
        StatisticsLevel1 counted = later.controls().getStatsL1();
        assertThat(counted.readvOps()).isEqualTo(new OperationCount(1, 1));
        assertThat(counted.readvBytes()).isEqualTo(300);
        assertThat(counted.writevOps()).isEqualTo(new OperationCount(1, 0));
        assertThat(counted.writevBytes()).isEqualTo(300);
        assertThat(counted.readOps()).as("calls of cuFileRead").isEqualTo(new OperationCount(0, 0));
        assertThat(later.controls().getStatsL3().gpus().getFirst().writeBytes()).isEqualTo(300);
        later.driverClose();
    }

    @Test
    void refusedCallIsCountedAsAnError() {
        BackendFile file = file();
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 4096);
        BackendBatch batch = backend.batchIoSetUp(1);
        started(backend, 3);
        expect(CuFileError.INVALID_VALUE, () -> backend.read(file, memory.range(), 4096, -1, 0));
        expect(CuFileError.INVALID_VALUE, () -> backend.batchIoSetUp(0));
        BatchRequest request = new BatchRequest(file, Operation.WRITE, memory.range(), 4096, 0, 0, 1);
        expect(
                CuFileError.INTERNAL_BATCH_SUBMIT_ERROR,
                () -> backend.batchIoSubmit(batch, List.of(request, request), 0));
        StatisticsLevel1 counted = backend.controls().getStatsL1();
        assertThat(counted.readOps()).isEqualTo(new OperationCount(0, 1));
        assertThat(counted.batchSetUpOps()).isEqualTo(new OperationCount(0, 1));
        assertThat(counted.batchSubmitOps()).isEqualTo(new OperationCount(0, 1));
        assertThat(counted.batchEnqueuedOps()).isEqualTo(new OperationCount(0, 2));
        assertThat(counted.lastBatchWriteBytes()).isZero();
        assertThat(backend.controls().getStatsL3().gpus().getFirst().readErrors()).isOne();
    }
}
