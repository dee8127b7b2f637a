package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.FakeCuda;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;

/** Two GPUs that are not there. */
class FakeManyGpusTest extends ManyGpus {
    private final FakeCuda cuda = new FakeCuda(2, 64 << 20);
    private final CudaAvailability.Available available = cuda.available();

    @Override
    CudaAvailability.Available available() {
        return available;
    }

    @Override
    Path directory() {
        return TestFolder.onDisk();
    }

    @AfterEach
    void nothingIsBroken() {
        assertThat(cuda.violations()).isEmpty();
    }
}
