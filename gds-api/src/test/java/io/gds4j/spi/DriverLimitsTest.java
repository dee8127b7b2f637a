package io.gds4j.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.config.CuFileConfig;
import io.gds4j.config.DriverProperties;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import java.util.List;
import java.util.function.LongConsumer;
import org.junit.jupiter.api.Test;

class DriverLimitsTest {
    private static final DriverProperties OTHERS = DriverProperties.of(1, 2, 3, 4, 5, 2, 7, 8, 9, 10, 11, 12);

    private final DriverLimits limits = new DriverLimits(CuFileConfig.defaults());

    @Test
    void propertiesShowTheLimits() {
        assertThat(limits.in(OTHERS))
                .isEqualTo(DriverProperties.of(1, 2, 4, 16384, 5, 2, 7, 131072, 9, 33554432, 11, 12));

        limits.setPollMode(true, 8);
        limits.setMaxDirectIoSize(64);
        limits.setMaxCacheSize(0);
        limits.setMaxPinnedMemSize(68);

        assertThat(limits.in(OTHERS)).isEqualTo(DriverProperties.of(1, 2, 8, 64, 5, 3, 7, 0, 9, 68, 11, 12));
        assertThat(limits.maxDirectIoKb()).isEqualTo(64);
        assertThat(limits.maxPinnedKb()).isEqualTo(68);
        assertThat(new DriverLimits(OTHERS, true).in(OTHERS).driverControlFlags()).isEqualTo(3);
    }

    private void refuse(LongConsumer set, Long... values) {
        DriverProperties before = limits.in(OTHERS);
        for (long value : List.of(values)) {
            CuFileException e = catchThrowableOfType(CuFileException.class, () -> set.accept(value));
            assertThat(e.error()).isEqualTo(CuFileError.DRIVER_UNSUPPORTED_LIMIT);
            assertThat(e.detail()).contains("is " + value + ", allowed: ");
        }
        assertThat(limits.in(OTHERS)).isEqualTo(before);
    }

    @Test
    void valuesOutOfRangeChangeNothing() {
        refuse(kb -> limits.setPollMode(true, kb), -4L, 0L, 3L, 5L);
        refuse(limits::setMaxDirectIoSize, -64L, 0L, 63L, 65L, 16385L, 16448L);
        refuse(limits::setMaxCacheSize, -4L, 1L, 3L);
        refuse(limits::setMaxPinnedMemSize, -64L, 0L, 60L, 66L);
    }
}
