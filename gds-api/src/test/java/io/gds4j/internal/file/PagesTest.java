package io.gds4j.internal.file;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class PagesTest {
    @Test
    void valuesGoUpAndDownToPages() {
        assertThat(new long[]{Pages.up(0), Pages.up(1), Pages.up(4096), Pages.up(4097)}).containsExactly(0, 4096, 4096,
                8192);
        assertThat(new long[]{Pages.down(4095), Pages.down(4096), Pages.down(8191)}).containsExactly(0, 4096, 4096);
        assertThat(new long[]{Pages.offset(4095), Pages.offset(4096), Pages.offset(-1)}).containsExactly(4095, 0, 4095);
        assertThat(new long[]{Pages.up(5, 4), Pages.up(3, 2L << 20)}).containsExactly(8, 2L << 20);
        assertThat(new long[]{Pages.down(7, 4), Pages.down((2L << 20) - 1, 2L << 20)}).containsExactly(4, 0);
        assertThat(Pages.up(Long.MAX_VALUE)).isNegative();
        assertThat(Pages.isAligned(4096 | 8192)).isTrue();
        assertThat(Pages.isAligned(4096 | 512)).isFalse();
    }
}
