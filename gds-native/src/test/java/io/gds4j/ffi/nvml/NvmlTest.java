package io.gds4j.ffi.nvml;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.error.CuFileError;
import io.gds4j.ffi.nvml.Nvml.Bar1;
import io.gds4j.testkit.Failures;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** NVML with and without the library, over a double. */
class NvmlTest {
    private static NvmlAvailability.Unavailable unavailable(NvmlAvailability found) {
        assertThat(found.nvml()).isEmpty();
        assertThat(found).isInstanceOf(NvmlAvailability.Unavailable.class);
        return (NvmlAvailability.Unavailable) found;
    }

    @Test
    void gpuIsFoundByPciIdAndByUuidWithItsBar1() {
        Nvml nvml = new FakeNvml().detect().nvml().orElseThrow();
        Nvml.Gpu gpu = nvml.byPciBusId(FakeNvml.PCI_BUS_ID);
        assertThat(gpu).isEqualTo(nvml.byUuid(FakeNvml.UUID));
        assertThat(gpu.name()).isEqualTo("NVIDIA Test GPU");
        assertThat(gpu.uuid()).isEqualTo(FakeNvml.UUID);
        assertThat(gpu.bar1()).hasValue(
                new Bar1(FakeNvml.BAR1_TOTAL, FakeNvml.BAR1_TOTAL - FakeNvml.BAR1_USED, FakeNvml.BAR1_USED));
        assertThat(gpu.nvLinks()).hasValue(3);
        assertThat(gpu.persistence()).contains(true);
        assertThat(nvml.driverVersion()).isEqualTo("580.126.09");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "0000:ff:00.0", "a\0b"})
    void missingGpuIsNotFound(String name) {
        Nvml nvml = new FakeNvml().detect().nvml().orElseThrow();
        Failures.expect(CuFileError.DEVICE_NOT_FOUND, () -> nvml.byPciBusId(name));
        Failures.expect(CuFileError.DEVICE_NOT_FOUND, () -> nvml.byUuid(name));
    }

    @Test
    void oldLibraryDoesNotTellOfNvLinks() {
        Nvml nvml = new FakeNvml().without("nvmlDeviceGetNvLinkState").detect().nvml().orElseThrow();
        assertThat(nvml.byUuid(FakeNvml.UUID).nvLinks()).isEmpty();
    }

    @Test
    void gpuWithoutBar1HasNone() {
        Nvml nvml = new FakeNvml().fail("nvmlDeviceGetBAR1MemoryInfo", 3).detect().nvml().orElseThrow();
        assertThat(nvml.byUuid(FakeNvml.UUID).bar1()).isEmpty();
    }

    @Test
    void gpuThatDoesNotTellItsPersistenceModeHasNone() {
        Nvml refused = new FakeNvml().fail("nvmlDeviceGetPersistenceMode", 3).detect().nvml().orElseThrow();
        Nvml old = new FakeNvml().without("nvmlDeviceGetPersistenceMode").detect().nvml().orElseThrow();
        assertThat(refused.byUuid(FakeNvml.UUID).persistence()).isEmpty();
        assertThat(old.byUuid(FakeNvml.UUID).persistence()).isEmpty();
    }

    @Test
    void otherFailuresHaveTheTextOfNvml() {
        Nvml nvml = new FakeNvml().fail("nvmlDeviceGetBAR1MemoryInfo", 15).detect().nvml().orElseThrow();
        assertThat(Failures.expect(CuFileError.CUDA_DRIVER_ERROR, () -> nvml.byUuid(FakeNvml.UUID)))
                .hasMessageContaining("nvmlDeviceGetBAR1MemoryInfo")
                .hasMessageContaining("Something is wrong")
                .hasMessageContaining(FakeNvml.UUID);
    }

    @Test
    void missingLibraryIsReported() {
        NvmlAvailability.Unavailable none = unavailable(NvmlLibrary.probe("libgds4j-none.so.1"));
        assertThat(none.reason()).startsWith("no NVML").contains("libgds4j-none.so.1");
        assertThat(none.remedy()).contains("driver");
    }

    @Test
    void otherLibraryLacksFunctionsOfNvml() {
        assertThat(unavailable(NvmlLibrary.probe("libc.so.6")).reason()).contains("nvmlInit_v2");
        assertThat(unavailable(new FakeNvml().without("nvmlDeviceGetUUID").detect()).reason())
                .isEqualTo("NVML lacks nvmlDeviceGetUUID");
    }

    @Test
    void failedInitNamesItsReason() {
        assertThat(unavailable(new FakeNvml().fail("nvmlInit_v2", 9).detect()).reason())
                .isEqualTo("nvmlInit: Something is wrong (NVML error 9)");
        assertThat(unavailable(new FakeNvml().fail("nvmlInit_v2", 999).detect()).reason())
                .isEqualTo("nvmlInit: NVML error 999");
    }

    @Test
    void laterCallsRepeatTheAnswer() {
        assertThat(NvmlLibrary.detect()).isSameAs(NvmlLibrary.detect());
    }
}
