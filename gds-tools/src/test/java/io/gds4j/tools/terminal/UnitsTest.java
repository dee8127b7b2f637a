package io.gds4j.tools.terminal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class UnitsTest {
    @ParameterizedTest
    @CsvSource({
            "0, 0",
            "4096, 4096",
            "1K, 1024",
            "1k, 1024",
            "2KiB, 2048",
            "2kB, 2000",
            "512M, 536870912",
            "1G, 1073741824",
            "1GB, 1000000000",
            "1 GiB, 1073741824",
            "3T, 3298534883328",
            "7B, 7"})
    void sizesWithSuffixesAreParsed(String text, long bytes) {
        assertThat(Units.parseBytes(text)).isEqualTo(bytes);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "G", "-1", "1.5G", "1X", "1 2", "9223372036854775808", "8E", "99999999999999999999"})
    void malformedSizeIsRefused(String text) {
        assertThatThrownBy(() -> Units.parseBytes(text))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("'" + text + "'");
    }

    @ParameterizedTest
    @CsvSource({
            "0, 0 B",
            "999, 999 B",
            "1023, 1023 B",
            "65536, 64 KiB",
            "1073741824, 1 GiB",
            "12345678901, 11.50 GiB",
            "1048575, 1.000 MiB",
            "16060522496, 14.96 GiB",
            "9223372036854775807, 8 EiB"})
    void sizesAreShownInPowersOf1024(long bytes, String text) {
        assertThat(Units.bytes(bytes)).isEqualTo(text);
    }

    @ParameterizedTest
    @CsvSource({"5123456789, 5.12 GB/s", "123456789, 123.5 MB/s", "NaN, -", "Infinity, -", "55e9, 55.00 GB/s"})
    void speedsAreShownInDecimalUnits(double rate, String text) {
        assertThat(Units.rate(rate)).isEqualTo(text);
    }

    @ParameterizedTest
    @CsvSource({"0, 0 s", "6.1, 7 s", "119.5, 2 min", "118.2, 119 s", "150, 3 min", "7500, 2 h 5 min", "-3, 0 s"})
    void timeLeftIsShownInWholeUnits(double seconds, String text) {
        assertThat(Units.remaining(seconds)).isEqualTo(text);
    }

    @ParameterizedTest
    @CsvSource({"0.2134, 0.213 s", "12.34, 12.3 s", "125.4, 2 min 5 s"})
    void timesAreShown(double seconds, String text) {
        assertThat(Units.seconds(seconds)).isEqualTo(text);
    }
}
