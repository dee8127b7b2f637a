package io.gds4j.tools.load;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.config.SlabArray;
import java.util.List;
import org.junit.jupiter.api.Test;

class OpenedDriverTest {
    private static final SlabArray DEFAULTS = CuFileConfig.defaults().posixPoolSlabs();

    @Test
    void bounceBuffersStayWithinTheirPartOfABudget() {
        assertThat(OpenedDriver.within(DEFAULTS, 2L << 30)).isSameAs(DEFAULTS);
        for (long bytes = 4096; bytes < DEFAULTS.totalBytes(); bytes = bytes * 9 / 8) {
            SlabArray within = OpenedDriver.within(DEFAULTS, bytes);
            assertThat(within.totalBytes()).isBetween(bytes / 8, bytes);
        }
        assertThat(OpenedDriver.within(DEFAULTS, 1)).isEqualTo(new SlabArray(List.of(4L), List.of(1L)));
        CuFileConfig.Builder settings = CuFileConfig.defaults().toBuilder();
        OpenedDriver.limitBounceBuffers(settings, 256 << 20);
        assertThat(settings.build().posixPoolSlabs())
                .isEqualTo(new SlabArray(List.of(4L, 1024L, 16384L), List.of(30L, 15L, 15L)));
    }

    @Test
    void loadsHaveLargeBounceBuffersUnlessTheConfigurationNamesOthers() {
        assertThat(slabsOfLoad(DEFAULTS)).isEqualTo(new SlabArray(List.of(16384L), List.of(8L)));
        SlabArray fewer = new SlabArray(DEFAULTS.sizesKb(), List.of(128L, 64L, 32L));
        assertThat(slabsOfLoad(fewer)).isEqualTo(fewer);
        SlabArray others = new SlabArray(List.of(4096L), List.of(40L));
        assertThat(slabsOfLoad(others)).isEqualTo(others);
    }

    private static SlabArray slabsOfLoad(SlabArray configured) {
        CuFileConfig.Builder settings = CuFileConfig.defaults().toBuilder()
                .set(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB, configured.sizesKb())
                .set(CuFileKeys.POSIX_POOL_SLAB_COUNT, configured.counts());
        OpenedDriver.onlyLargeBounceBuffers(settings);
        return settings.build().posixPoolSlabs();
    }
}
