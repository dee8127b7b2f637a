package io.gds4j.compat;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaDriver;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** Two GPUs of this machine. */
@Tag("gpu")
class GpuManyTest extends ManyGpus {
    @BeforeAll
    static void thereAreTwo() {
        assumeTrue(CudaDriver.detect().deviceCount() > 1, "one GPU");
    }

    @Override
    CudaAvailability.Available available() {
        return (CudaAvailability.Available) CudaDriver.detect();
    }

    @Override
    Path directory() {
        return TestFolder.onDisk();
    }
}
