package io.gds4j.loader.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.loader.format.DType;
import java.lang.foreign.MemorySegment;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Conversions of floats and blocks to floats. */
class ConversionTest {
    private static final int ALL = 1 << 16;

    private static short[] convert(float[] values, DType type) {
        short[] to = new short[values.length];
        Conversion.of(DType.F32, type).orElseThrow().convert(MemorySegment.ofArray(values), MemorySegment.ofArray(to));
        return to;
    }

    @ParameterizedTest
    @CsvSource({"BF16", "F16"})
    void everyShortFloatSurvivesItsRoundTrip(String name) {
        DType type = name.equals("F16") ? DType.F16 : DType.BF16;
        short[] all = new short[ALL];
        for (int i = 0; i < ALL; i++) {
            all[i] = (short) i;
        }
        float[] floats = new float[ALL];
        Conversion up = Conversion.of(type, DType.F32).orElseThrow();
        assertThat(up.bytes(2L * ALL)).isEqualTo(4L * ALL);
        up.convert(MemorySegment.ofArray(all), MemorySegment.ofArray(floats));
        short[] back = convert(floats, type);
        for (int i = 0; i < ALL; i++) {
            if (Float.isNaN(floats[i])) {
                float again = type == DType.F16 ? Float.float16ToFloat(back[i]) : Float.intBitsToFloat(back[i] << 16);
                assertThat(again).isNaN();
            } else {
                assertThat(back[i]).isEqualTo(all[i]);
            }
        }
    }

    /** Bits of a float, and of the BF16 that is next to it; ties go to the even one. */
    @ParameterizedTest
    @CsvSource({"3f808000, 3f80", "3f818000, 3f82", "3f808001, 3f81", "3f807fff, 3f80", "7f7fffff, 7f80",
            "bf818000, bf82", "7f800000, 7f80", "ff800000, ff80", "7f800001, 7fc0", "80000000, 8000", "00008000, 0000",
            "00018000, 0002"})
    void floatsAreRoundedToTheNearest(String bits, String rounded) {
        float[] value = {Float.intBitsToFloat(Integer.parseUnsignedInt(bits, 16))};
        assertThat(convert(value, DType.BF16)[0]).isEqualTo((short) Integer.parseInt(rounded, 16));
    }

    @ParameterizedTest
    @CsvSource({"Q8_0, 32, 34", "Q4_0, 32, 18", "Q4_K, 256, 144", "Q6_K, 256, 210"})
    void blocksHaveTheValuesOfTheirDecoder(String name, int elements, int bytes) {
        DType type = new DType(name, elements, bytes);
        byte[] blocks = new byte[40 * bytes];
        new Random(76).nextBytes(blocks);
        float[] decoded = new float[40 * elements];
        FloatDecoder.of(type).orElseThrow().decode(MemorySegment.ofArray(blocks), 0, decoded, 0, decoded.length);
        float[] floats = new float[decoded.length];
        short[] halves = new short[decoded.length];
        Conversion.of(type, DType.F32).orElseThrow()
                .convert(MemorySegment.ofArray(blocks), MemorySegment.ofArray(floats));
        Conversion.of(type, DType.F16).orElseThrow()
                .convert(MemorySegment.ofArray(blocks), MemorySegment.ofArray(halves));
        for (int i = 0; i < decoded.length; i++) {
            assertThat(Float.floatToRawIntBits(floats[i])).isEqualTo(Float.floatToRawIntBits(decoded[i]));
            assertThat(halves[i]).isEqualTo(Float.floatToFloat16(decoded[i]));
        }
    }

    @Test
    void whatIsNoFloatOrHasTheTypeStays() {
        assertThat(Conversion.of(DType.I32, DType.F32)).isEmpty();
        assertThat(Conversion.of(DType.F32, DType.F32)).isEmpty();
        assertThat(Conversion.isTarget(DType.F64)).isFalse();
    }
}
