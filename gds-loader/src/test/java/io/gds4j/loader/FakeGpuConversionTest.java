package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.compat.CompatBackend;
import io.gds4j.config.CuFileConfig;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.FfmPosix;
import org.junit.jupiter.api.AfterEach;

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

    @AfterEach
    void nothingIsLeft() {
        close();
        assertThat(cuda.violations()).isEmpty();
        assertThat(cuda.leaks()).isEmpty();
    }
}
