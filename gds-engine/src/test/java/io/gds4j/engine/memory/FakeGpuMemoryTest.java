package io.gds4j.engine.memory;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.FakeCuda;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;

/** The contract over a double with two GPUs. */
@Tag("slow")
class FakeGpuMemoryTest extends GpuMemoryContract {
    private FakeCuda fake;
    private CudaAvailability.Available found;

    @Override
    CudaAvailability.Available available() {
        if (found == null) {
            fake = new FakeCuda(2, 64L << 20);
            found = fake.available();
        }
        return found;
    }

    @Override
    long createContext(int device) {
        return fake.createContext(device);
    }

    @Override
    void destroyContext(long context) {
        fake.destroyContext(context);
    }

    @AfterEach
    void nothingLeaksAndNoRuleIsBroken() {
        allocator.close();
        assertThat(fake.leaks()).isEmpty();
        assertThat(fake.violations()).isEmpty();
    }
}
