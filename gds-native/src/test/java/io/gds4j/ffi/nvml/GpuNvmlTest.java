package io.gds4j.ffi.nvml;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaDriver;
import io.gds4j.ffi.cuda.GpuCapabilities;
import io.gds4j.ffi.nvml.Nvml.Bar1;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** NVML on a machine with a GPU. */
@Tag("gpu")
class GpuNvmlTest {
    @Test
    void nvmlFindsEveryCudaGpuAndItsBar1() {
        Nvml nvml = NvmlLibrary.detect().nvml().orElseThrow();
        CudaAvailability.Available cuda = (CudaAvailability.Available) CudaDriver.detect();
        for (int ordinal = 0; ordinal < cuda.deviceCount(); ordinal++) {
            int[] device = new int[1];
            String[] text = new String[1];
            assertThat(cuda.driver().deviceGet(device, ordinal)).isEqualTo(Cuda.SUCCESS);
            assertThat(cuda.driver().deviceGetPciBusId(text, device[0])).isEqualTo(Cuda.SUCCESS);
            Nvml.Gpu gpu = nvml.byPciBusId(text[0]);
            assertThat(gpu.uuid()).startsWith("GPU-");
            assertThat(nvml.byUuid(gpu.uuid()).name()).isEqualTo(gpu.name());
            Bar1 bar1 = gpu.bar1().orElseThrow();
            assertThat(bar1.total()).isGreaterThan(128L << 20);
            assertThat(bar1.free() + bar1.used()).isLessThanOrEqualTo(bar1.total());
            System.out.println("capabilities: " + GpuCapabilities.of(cuda.driver(), ordinal));
            System.out.println("nvml: " + gpu + ", driver " + nvml.driverVersion());
        }
    }
}
