package io.gds4j.loader;

import io.gds4j.CuFileDriver;
import io.gds4j.config.CuFileConfig;
import org.junit.jupiter.api.Tag;

/** Conversions by a GPU. */
@Tag("gpu")
class GpuConversionTest extends ConvertingGpu {
    @Override
    int blocks() {
        return 1 << 20;
    }

    @Override
    CuFileDriver open() {
        return CuFileDriver.open(CuFileConfig.defaults(), "compat");
    }
}
