package io.gds4j.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import io.gds4j.config.SlabArray;
import io.gds4j.config.TargetType;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.testkit.Failures;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Contract of the functions of cuFile 1.16 and 1.17: peer-to-peer flags, GPU bounce-buffer slabs, and the topology.
 *
 * @since 0.1
 */
public abstract class LaterContract extends BackendContract {
    /** The only flag that a program may set: CU_FILE_P2P_FLAG_C2C on AArch64, else CU_FILE_P2P_FLAG_PCI_P2PDMA. */
    private static final int ALLOWED = System.getProperty("os.arch").equals("aarch64") ? 8 : 1;

    /** For subclasses. */
    protected LaterContract() {
    }

    private CuFileBackend closedBackend(String function) {
        assumeFalse(backend().unbuiltFunctions().contains(function), "not built");
        closeSharedDriverForOtherSettings();
        return backend().createBackend(backend().config());
    }

    @Test
    void peerToPeerFlagsLastUntilTheDriverCloses() {
        CuFileBackend backend = closedBackend("cuFileDriverSetP2PFlags");
        backend.driverOpen();
        backend.controls().driverSetP2pFlags(TargetType.NVME, ALLOWED);
        assertThat(backend.controls().driverGetP2pFlags(TargetType.NVME) & ALLOWED).isEqualTo(ALLOWED);
        backend.driverClose();
        Failures.expect(
                CuFileError.DRIVER_NOT_INITIALIZED,
                () -> backend.controls().driverSetP2pFlags(TargetType.NVME, ALLOWED));
        Failures.expect(CuFileError.DRIVER_NOT_INITIALIZED,
                () -> backend.controls().driverGetP2pFlags(TargetType.NVME));
    }

    @Test
    void otherPeerToPeerFlagsAreRefused() {
        CuFileBackend backend = closedBackend("cuFileDriverSetP2PFlags");
        backend.driverOpen();
        try {
            for (int flags : new int[]{0, 2, 4, 9, 16, 31, 32, -1}) {
                Failures.expect(
                        CuFileError.INVALID_VALUE,
                        () -> backend.controls().driverSetP2pFlags(TargetType.NVMEOF, flags));
            }
            assertThat(backend.controls().driverGetP2pFlags(TargetType.NVMEOF)).isZero();
        } finally {
            backend.driverClose();
        }
    }

    @Test
    void gpuSlabsApplyToTheNextOpen() {
        CuFileBackend backend = closedBackend("cuFileSetParameterGpuBounceBufferSlabArray");
        SlabArray slabs = new SlabArray(List.of(1024L, 8192L), List.of(4L, 2L));
        Failures.expect(CuFileError.INVALID_VALUE, backend.controls()::getParameterGpuBounceBufferSlabArray);
        backend.controls().setParameterGpuBounceBufferSlabArray(slabs);
        assertThat(backend.controls().getParameterGpuBounceBufferSlabArray()).as("staged").isEqualTo(slabs);
        backend.driverOpen();
        try {
            assertThat(backend.controls().getParameterGpuBounceBufferSlabArray()).as("running").isEqualTo(slabs);
            Failures.expect(
                    CuFileError.DRIVER_ALREADY_OPEN,
                    () -> backend.controls().setParameterGpuBounceBufferSlabArray(slabs));
        } finally {
            backend.driverClose();
        }
        Failures.expect(CuFileError.INVALID_VALUE, backend.controls()::getParameterGpuBounceBufferSlabArray);
    }

    @Test
    void topologyIsWritten() throws IOException {
        CuFileBackend backend = closedBackend("cuFileExportPCIeTopology");
        Path file = newPath();
        backend.driverOpen();
        try {
            backend.controls().exportPcieTopology(file);
            assertThat(Files.readString(file)).contains("{").contains("}");
            Failures.expect(
                    CuFileError.INVALID_VALUE,
                    () -> backend.controls().exportPcieTopology(file.resolveSibling("none/file")));
        } catch (CuFileException e) {
            assertThat(e.error()).as("a machine without a topology: %s", e).isEqualTo(CuFileError.INTERNAL_ERROR);
            assertThat(file).doesNotExist();
        } finally {
            backend.driverClose();
        }
    }
}
