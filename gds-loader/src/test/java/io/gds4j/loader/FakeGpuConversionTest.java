package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.compat.CompatBackend;
import io.gds4j.config.CuFileConfig;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaFunction;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.loader.format.DType;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Conversions by a GPU's double, which decodes as the host does: what stands around the kernel. */
class FakeGpuConversionTest extends ConvertingGpu {
    private FakeCuda cuda;

    @Override
    int blocks() {
        return 1 << 11;
    }

    @Override
    CuFileDriver open() {
        cuda = new FakeCuda(1, 256L << 20);
        return CuFileDriver.open(new CompatBackend(CuFileConfig.defaults(), FfmPosix.instance(), cuda.available()));
    }

    @ParameterizedTest
    @CsvSource({"MODULE_LOAD_DATA, 1", "MODULE_GET_FUNCTION, 1", "LAUNCH_KERNEL, 1", "LAUNCH_KERNEL, 2",
            "LAUNCH_KERNEL, 7",
            "STREAM_CREATE, 1"})
    void aFailureEndsTheLoad(CudaFunction function, int nth) {
        Path file = folder.resolve("model.safetensors");
        SafetensorsWriter writer = new SafetensorsWriter(file).sorted(false);
        for (int i = 0; i < 30; i++) {
            writer.tensor("t" + i, DType.BF16, 40_000);
        }
        writer.write(new TensorPattern(1));
        FakeCuda failing = new FakeCuda(1, 256L << 20);
        try (CuFileDriver driver = CuFileDriver.open(
                new CompatBackend(CuFileConfig.defaults(), FfmPosix.instance(), failing.available()))) {
            LoadPlan plan = Checkpoint.open(file).plan().toGpu(0).as(DType.F32);
            failing.fail(function, nth, Cuda.ERROR_INVALID_VALUE);
            int seen = 0;
            CuFileException failure = null;
            try (TensorsInTurn tensors = plan.inTurn(driver, Budget.bytes(2 << 20))) {
                for (TensorInTurn turn : tensors) {
                    assertThat(turn.tensor().toFloatArray()).hasSize(40_000);
                    seen++;
                }
            } catch (CuFileException e) {
                failure = e;
            }
            assertThat(failure == null ? seen : 30).as("%s %s", function, failure).isEqualTo(30);
            try (TensorsInTurn tensors = plan.inTurn(driver, Budget.bytes(2 << 20))) {
                tensors.forEach(turn -> assertThat(turn.tensor().dtype()).isEqualTo(DType.F32));
            }
        }
        assertThat(failing.violations()).isEmpty();
        assertThat(failing.leaks()).isEmpty();
    }

    @AfterEach
    void nothingIsLeft() {
        close();
        assertThat(cuda.violations()).isEmpty();
        assertThat(cuda.leaks()).isEmpty();
    }
}
