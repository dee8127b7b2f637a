package io.gds4j.compat;

import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaDriver;
import org.junit.jupiter.api.Tag;

/** Random fragments and ranges on the GPUs of this machine. */
@Tag("gpu")
class GpuFragmentsTest extends RandomFragments {
    @Override
    CudaAvailability.Available available() {
        return (CudaAvailability.Available) CudaDriver.detect();
    }
}
