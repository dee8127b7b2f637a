package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.Availability;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The configuration keys that allow or forbid this backend. */
class CompatModeTest {
    private static CuFileConfig config(boolean force, boolean allow) {
        return CuFileConfig.builder()
                .withoutEnvironment()
                .set(CuFileKeys.FORCE_COMPAT_MODE, force)
                .set(CuFileKeys.ALLOW_COMPAT_MODE, allow)
                .build();
    }

    @ParameterizedTest
    @CsvSource({"false, true", "true, true", "true, false"})
    void forcedOrAllowedCompatModeServes(boolean force, boolean allow) {
        CuFileConfig config = config(force, allow);
        assertThat(new CompatBackendProvider().probe(config)).isInstanceOf(Availability.Available.class);
        try (CuFileDriver driver = CuFileDriver.open(config, "compat")) {
            assertThat(driver.backendName()).isEqualTo("compat");
        }
    }

    @Test
    void refusalNamesTheSettingThatAllowsCompatMode() {
        CuFileConfig config = config(false, false);
        CuFileException failure = Failures.expect(
                CuFileError.DRIVER_NOT_INITIALIZED, () -> CuFileDriver.open(config, "compat"));
        assertThat(failure).hasMessageContaining("allow_compat_mode=false")
                .hasMessageNotContaining("force_compat_mode");
    }

    @Test
    void systemMemoryIsRefusedWhereItIsNotAllowed() {
        try (Rig rig = Rig.onGpu(builder -> builder.set(CuFileKeys.ALLOW_SYSTEM_MEMORY, false))) {
            GuardedFile file = rig.file(100);
            GuardedMemory host = rig.host(100);
            GuardedMemory device = rig.memory(MemoryKind.CUDA_DEVICE, 100);
            try (CuFileHandle handle = rig.open(file)) {
                Failures.expect(CuFileError.CUDA_MEMORY_TYPE_INVALID, () -> handle.read(host.range(), 0));
                Failures.expect(CuFileError.CUDA_MEMORY_TYPE_INVALID, () -> handle.write(host.range(), 0));
                assertThat(handle.read(device.range(), 0)).isEqualTo(100);
            }
        }
    }

    @Test
    void deviceMemoryBeyondThePinnedLimitIsNotRegistered() {
        try (Rig rig = Rig.onGpu(builder -> builder.set(CuFileKeys.MAX_DEVICE_PINNED_MEM_SIZE_KB, 64L))) {
            GuardedMemory first = rig.memory(MemoryKind.CUDA_DEVICE, 40 << 10);
            GuardedMemory second = rig.memory(MemoryKind.CUDA_DEVICE, 40 << 10);
            try (var buffer = rig.driver().registerBuffer(first.range())) {
                assertThat(buffer.isOpen()).isTrue();
                Failures.expect(
                        CuFileError.INVALID_MAPPING_SIZE, () -> rig.driver().registerBuffer(second.range()));
            }
            rig.driver().registerBuffer(second.range()).close();
        }
    }

    @Test
    void gpuMemoryIsNotRegisteredWithoutADriver() {
        try (Rig rig = Rig.onHost()) {
            for (MemoryKind kind : List.of(MemoryKind.CUDA_DEVICE, MemoryKind.CUDA_MANAGED, MemoryKind.CUDA_VMM)) {
                MemoryRange range = MemoryRange.ofAddress(1L << 40, 4096, kind);
                Failures.expect(CuFileError.CUDA_POINTER_INVALID, () -> rig.driver().registerBuffer(range));
            }
        }
    }
}
