package io.gds4j.loader.internal;

import io.gds4j.loader.format.DType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.Set;

/** Decodes the float types of tensors to Java's float, exactly: every value of these types is a float. */
public final class FloatDecoder {
    private static final ValueLayout.OfShort SHORT =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfFloat FLOAT =
            ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final int BYTE_VALUES = 256;
    /** Exponent bias of F8_E8M0, which is that of float. */
    private static final int SCALE_BIAS = 127;

    private static final Set<DType> DECODED = Set.of(
            DType.F32, DType.F16, DType.BF16, DType.F8_E5M2, DType.F8_E4M3, DType.F8_E8M0, DType.F8_E4M3FNUZ,
            DType.F8_E5M2FNUZ);

    private FloatDecoder() {
    }

    /** Returns whether {@link #decode} knows the type. */
    public static boolean decodes(DType dtype) {
        return DECODED.contains(dtype);
    }

    /** Decodes {@code to.length} elements from the start of the segment. */
    public static void decode(DType dtype, MemorySegment from, float[] to) {
        switch (dtype.id()) {
            case "F32" -> MemorySegment.copy(from, FLOAT, 0, to, 0, to.length);
            case "F16" -> {
                for (int i = 0; i < to.length; i++) {
                    to[i] = Float.float16ToFloat(from.get(SHORT, 2L * i));
                }
            }
            case "BF16" -> {
                for (int i = 0; i < to.length; i++) {
                    to[i] = Float.intBitsToFloat(from.get(SHORT, 2L * i) << 16);
                }
            }
            default -> {
                float[] values = table(dtype);
                for (int i = 0; i < to.length; i++) {
                    to[i] = values[from.get(ValueLayout.JAVA_BYTE, i) & 0xff];
                }
            }
        }
    }

    /** Returns the values of all 256 bytes of an 8-bit type. */
    private static float[] table(DType dtype) {
        float[] values = new float[BYTE_VALUES];
        for (int bits = 0; bits < BYTE_VALUES; bits++) {
            values[bits] = value(dtype, bits);
        }
        return values;
    }

    private static float value(DType dtype, int bits) {
        return switch (dtype.id()) {
            // The upper half of an F16.
            case "F8_E5M2" -> Float.float16ToFloat((short) (bits << 8));
            case "F8_E4M3" -> (bits & 0x7f) == 0x7f ? Float.NaN : finite(bits, 3, 7);
            // Without infinities and negative zero, whose bits stand for NaN; their biases are larger by one.
            case "F8_E5M2FNUZ" -> bits == 0x80 ? Float.NaN : finite(bits, 2, 16);
            case "F8_E4M3FNUZ" -> bits == 0x80 ? Float.NaN : finite(bits, 3, 8);
            case "F8_E8M0" -> bits == 0xff ? Float.NaN : Math.scalb(1f, bits - SCALE_BIAS);
            default -> throw new AssertionError(dtype);
        };
    }

    /** Returns a finite value of a sign bit, an exponent and {@code mantissaBits}. */
    private static float finite(int bits, int mantissaBits, int bias) {
        int exponent = (bits & 0x7f) >> mantissaBits;
        int mantissa = bits & ((1 << mantissaBits) - 1);
        // Exponent 0 marks a number without the implicit leading 1.
        int significand = exponent == 0 ? mantissa : mantissa | 1 << mantissaBits;
        float magnitude = Math.scalb((float) significand, Math.max(exponent, 1) - bias - mantissaBits);
        return bits >= 0x80 ? -magnitude : magnitude;
    }
}
