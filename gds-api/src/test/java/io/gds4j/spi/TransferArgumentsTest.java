package io.gds4j.spi;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TransferArgumentsTest {
    private static final long LARGEST = TransferArguments.MAX_SIZE;

    @ParameterizedTest
    @CsvSource({
            "0, 0", "0, 9223372036854775807", "1, 9223372036854775806", "4611686018427387904, 0",
            "4611686018427387904, 4611686018427387903"
    })
    void numbersUpToTheLimitsAreValid(long size, long fileOffset) {
        assertThat(TransferArguments.isFileRange(size, fileOffset)).isTrue();
        assertThat(TransferArguments.invalidNumber(size, fileOffset, 0)).isNull();
    }

    @ParameterizedTest
    @CsvSource({
            "-1, 0, size is outside 0..2^62: -1",
            "4611686018427387905, 0, size is outside 0..2^62: 4611686018427387905",
            "0, -1, file offset is negative: -1",
            "1, 9223372036854775807, file offset 9223372036854775807 and size 1 overflow",
            "4611686018427387904, 4611686018427387904,"
                    + " file offset 4611686018427387904 and size 4611686018427387904 overflow"
    })
    void numbersPastTheLimitsAreNamed(long size, long fileOffset, String reason) {
        assertThat(TransferArguments.isFileRange(size, fileOffset)).isFalse();
        assertThat(TransferArguments.invalidNumber(size, fileOffset, 0)).isEqualTo(reason);
    }

    @ParameterizedTest
    @CsvSource({
            "8, 0, 8, true", "8, 8, 0, true", "8, 1, 7, true", "8, 9, 0, false", "8, 1, 8, false", "8, 0, -1, false",
            "8, 4611686018427387904, 8, false", "8, 1, 9223372036854775807, false"
    })
    void partIsWithinMemory(long length, long size, long bufferOffset, boolean within) {
        assertThat(TransferArguments.isWithin(length, size, bufferOffset)).isEqualTo(within);
    }

    @Test
    void totalSaturates() {
        MemoryRange small = MemoryRange.ofAddress(4096, 10, MemoryKind.HOST);
        MemoryRange large = MemoryRange.ofAddress(4096, LARGEST, MemoryKind.HOST);

        assertThat(TransferArguments.total(List.of())).isZero();
        assertThat(TransferArguments.total(List.of(small, small))).isEqualTo(20);
        assertThat(TransferArguments.total(List.of(large))).isEqualTo(LARGEST);
        assertThat(TransferArguments.total(List.of(small, large, large))).isEqualTo(Long.MAX_VALUE);
    }
}
