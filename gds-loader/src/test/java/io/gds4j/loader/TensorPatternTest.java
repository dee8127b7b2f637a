package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.MemorySegment;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;

/** The bytes of {@link TensorPattern}. */
class TensorPatternTest {
    @Test
    void patternHasKnownFirstBytes() {
        TensorPattern pattern = new TensorPattern(0);
        assertThat(first(pattern, "z.flags")).isEqualTo("fbb6b12a2bdb07ef");
        assertThat(first(pattern, "blk.39.w")).isEqualTo("0e2085a6d9ff9ac5");
        assertThat(first(pattern, "unicode.é😀")).isEqualTo("374d6b9162116a08");
    }

    private static String first(TensorPattern pattern, String name) {
        byte[] bytes = new byte[8];
        pattern.fill(name, 0, MemorySegment.ofArray(bytes));
        return HexFormat.of().formatHex(bytes);
    }

    @Test
    void patternDoesNotDependOnPieces() {
        TensorPattern pattern = new TensorPattern(5);
        byte[] whole = new byte[300_000];
        pattern.fill("t", 0, MemorySegment.ofArray(whole));
        byte[] pieces = new byte[whole.length];
        for (int at = 0; at < pieces.length; at += 777) {
            pattern.fill("t", at, MemorySegment.ofArray(pieces).asSlice(at, Math.min(777, pieces.length - at)));
        }
        assertThat(pieces).isEqualTo(whole);
        assertThat(pattern.mismatch("t", 0, MemorySegment.ofArray(whole))).isEqualTo(-1);
        whole[299_999] ^= 1;
        assertThat(pattern.mismatch("t", 0, MemorySegment.ofArray(whole))).isEqualTo(299_999);
        assertThat(pattern.mismatch("t", 1000, MemorySegment.ofArray(whole).asSlice(1000))).isEqualTo(298_999);
        assertThat(pattern.mismatch("u", 0, MemorySegment.ofArray(whole))).isZero();
        assertThat(new TensorPattern(6).mismatch("t", 0, MemorySegment.ofArray(whole))).isZero();
    }
}
