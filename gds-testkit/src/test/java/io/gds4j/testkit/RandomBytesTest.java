package io.gds4j.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.SplittableRandom;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RandomBytesTest {
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 7, 8, 9, 8191, 8192, 8193, 8199, 8200, 100_003})
    void areTheBytesOfTheJdk(int length) {
        for (long seed : new long[]{0, 1, -5, Long.MIN_VALUE, length}) {
            byte[] expected = new byte[length];
            new SplittableRandom(seed).nextBytes(expected);
            assertThat(RandomBytes.of(seed, length)).isEqualTo(expected);
        }
    }
}
