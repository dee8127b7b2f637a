package io.gds4j.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.CuFileDriver;
import io.gds4j.config.CuFileConfig;
import io.gds4j.diagnosis.Gpu;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Spark's addresses become CUDA devices. */
class GpuAddressesTest {
    static final boolean NO_GPU = CuFileDriver.diagnose(CuFileConfig.load()).gpus().isEmpty();

    /** CUDA's order on a host with a slow GPU at the first PCI address. */
    private static final List<Gpu> HOST = List.of(
            gpu(0, "GPU-bbbb0000-0000-0000-0000-000000000001", "0000:41:00.0"),
            gpu(1, "GPU-cccc0000-0000-0000-0000-000000000002", "0000:81:00.0"),
            gpu(2, "GPU-aaaa0000-0000-0000-0000-000000000003", "0000:01:00.0"));

    private static Gpu gpu(int index, String uuid, String pci) {
        return Gpu.of(index, "test", uuid, Optional.of(pci), OptionalLong.empty(), OptionalLong.empty(), "9.0",
                OptionalInt.empty(), Optional.empty(), OptionalInt.empty());
    }

    /** @param seen number of GPUs that the process sees */
    private static GpuAddresses addresses(int seen, String visible) {
        return new GpuAddresses(HOST.subList(0, seen), Optional.ofNullable(visible));
    }

    @ParameterizedTest
    @CsvSource(nullValues = "-", value = {
            // nvidia-smi counts by PCI address
            "3, -, 0, 2",
            "3, -, 1, 0",
            "3, -, 2, 1",
            // the process sees some GPUs of the host
            "2, '2,3', 2, 0",
            "2, '2,3', 3, 1",
            "2, ' 6 , 4 ', 4, 1",
            // UUIDs, of which CUDA accepts a prefix
            "3, -, GPU-cccc0000-0000-0000-0000-000000000002, 1",
            "2, '5,7', GPU-bbbb0000-0000-0000-0000-000000000001, 0",
            "2, 'GPU-bbbb,GPU-cccc', gpu-CCCC0000-0000-0000-0000-000000000002, 1",
            "3, -, GPU-aaaa, 2"})
    void addressLeadsToADevice(int seen, String visible, String address, int device) {
        assertThat(addresses(seen, visible).device(address)).isEqualTo(device);
    }

    @ParameterizedTest
    @CsvSource(nullValues = "-", value = {
            "3, -, 3",
            "2, '2,3', 0",
            "1, '2,3', 3",
            "2, 'GPU-bbbb,GPU-cccc', 1",
            "3, -, GPU-dddd",
            "3, -, GPU-",
            "3, -, ''",
            "3, '', 0",
            "3, -, 99999999999"})
    void addressThatTheProcessDoesNotSeeIsRefused(int seen, String visible, String address) {
        assertThatThrownBy(() -> addresses(seen, visible).device(address)).isInstanceOf(CuFileException.class)
                .hasMessageContaining("Spark assigned GPU " + address)
                .satisfies(e -> assertThat(e.getMessage()).hasLineCount(1))
                .extracting(e -> ((CuFileException) e).error())
                .isEqualTo(CuFileError.DEVICE_NOT_FOUND);
    }
}
