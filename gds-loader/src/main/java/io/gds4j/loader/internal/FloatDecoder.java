package io.gds4j.loader.internal;

import io.gds4j.loader.format.DType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Decodes the elements of a type to Java's float. Floats of 8 to 32 bits are exact, because each of their values is a float; blocks of
 * ggml have the values that ggml computes. Immutable and thread-safe.
 */
public final class FloatDecoder {
    private static final ValueLayout.OfShort SHORT =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfFloat FLOAT =
            ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final int BYTE_VALUES = 256;
    /** Exponent bias of F8_E8M0, which is that of float. */
    private static final int SCALE_BIAS = 127;
    /** Elements that pass through an array at a time: their bytes stay in the processor's first cache. */
    private static final int PART = 4096;

    private static final Map<DType, FloatDecoder> BY_TYPE = new HashMap<>();

    static {
        add(DType.F32, (from, offset, to, at, count) -> MemorySegment.copy(from, FLOAT, offset, to, at, count));
        add(DType.F16, inParts((from, to, at, count) -> {
            for (int i = 0; i < count; i++) {
                to[at + i] = Float.float16ToFloat(from[i]);
            }
        }));
        add(DType.BF16, inParts((from, to, at, count) -> {
            for (int i = 0; i < count; i++) {
                to[at + i] = Float.intBitsToFloat(from[i] << Short.SIZE);
            }
        }));
        add(DType.F8_E5M2);
        add(DType.F8_E4M3);
        add(DType.F8_E8M0);
        add(DType.F8_E4M3FNUZ);
        add(DType.F8_E5M2FNUZ);
        add("Q4_0", 32, 18, GgmlBlocks::q4of0);
        add("Q4_1", 32, 20, GgmlBlocks::q4of1);
        add("Q5_0", 32, 22, GgmlBlocks::q5of0);
        add("Q5_1", 32, 24, GgmlBlocks::q5of1);
        add("Q8_0", 32, 34, GgmlBlocks::q8of0);
        add("Q2_K", 256, 84, GgmlBlocks::q2k);
        add("Q3_K", 256, 110, GgmlBlocks::q3k);
        add("Q4_K", 256, 144, GgmlBlocks::q4k);
        add("Q5_K", 256, 176, GgmlBlocks::q5k);
        add("Q6_K", 256, 210, GgmlBlocks::q6k);
        add("IQ4_NL", 32, 18, GgmlBlocks::iq4nl);
        add("MXFP4", 32, 17, GgmlBlocks::mxfp4);
    }

    private final DType type;
    private final Elements elements;

    private FloatDecoder(DType type, Elements elements) {
        this.type = type;
        this.elements = elements;
    }

    /** Decodes elements of whole blocks. */
    @FunctionalInterface
    private interface Elements {
        /**
         * @param offset bytes before the first block
         * @param count elements, a multiple of a block's
         */
        void decode(MemorySegment from, long offset, float[] to, int at, int count);
    }

    /** Decodes whole blocks from the start of an array. */
    @FunctionalInterface
    private interface Blocks {
        void decode(byte[] from, float[] to, int at, int blocks);
    }

    /** Decodes elements of two bytes from the start of an array. */
    @FunctionalInterface
    private interface Shorts {
        void decode(short[] from, float[] to, int at, int count);
    }

    private static void add(DType type, Elements elements) {
        BY_TYPE.put(type, new FloatDecoder(type, elements));
    }

    private static void add(DType byteFloat) {
        float[] values = table(byteFloat);
        add(byteFloat, inParts(byteFloat, (from, to, at, count) -> {
            for (int i = 0; i < count; i++) {
                to[at + i] = values[from[i] & 0xff];
            }
        }));
    }

    private static void add(String id, int blockElements, int blockBytes, Blocks blocks) {
        DType type = new DType(id, blockElements, blockBytes);
        add(type, inParts(type, blocks));
    }

    /** Returns the decoder of a type; empty for integers, longer floats and types whose blocks are not known. */
    public static Optional<FloatDecoder> of(DType type) {
        return Optional.ofNullable(BY_TYPE.get(type));
    }

    /**
     * Decodes elements, which may begin and end within a block.
     *
     * @param from blocks from the start on, in memory of any kind
     * @param first number of the first element
     * @param at index of the first element in the array
     */
    public void decode(MemorySegment from, long first, float[] to, int at, int count) {
        int size = type.blockElements();
        int end = at + count;
        long block = first / size;
        int skipped = (int) (first % size);
        while (at < end) {
            int whole = skipped > 0 ? 0 : (end - at) / size;
            if (whole > 0) {
                elements.decode(from, block * type.blockBytes(), to, at, whole * size);
                block += whole;
                at += whole * size;
            } else {
                float[] one = new float[size];
                elements.decode(from, block * type.blockBytes(), one, 0, size);
                int part = Math.min(size - skipped, end - at);
                System.arraycopy(one, skipped, to, at, part);
                block++;
                at += part;
                skipped = 0;
            }
        }
    }

    /** Copies bytes to an array first: loops over arrays are compiled to vector instructions, whatever the kind of the memory. */
    private static Elements inParts(DType type, Blocks blocks) {
        return (from, offset, to, at, count) -> {
            int left = count / type.blockElements();
            int part = Math.min(left, PART / type.blockElements());
            byte[] bytes = new byte[part * type.blockBytes()];
            for (; left > 0; left -= part) {
                part = Math.min(left, part);
                int length = part * type.blockBytes();
                MemorySegment.copy(from, ValueLayout.JAVA_BYTE, offset, bytes, 0, length);
                blocks.decode(bytes, to, at, part);
                offset += length;
                at += part * type.blockElements();
            }
        };
    }

    private static Elements inParts(Shorts shorts) {
        return (from, offset, to, at, count) -> {
            short[] bits = new short[Math.min(count, PART)];
            for (int done = 0; done < count; done += bits.length) {
                int part = Math.min(bits.length, count - done);
                MemorySegment.copy(from, SHORT, offset + (long) done * Short.BYTES, bits, 0, part);
                shorts.decode(bits, to, at + done, part);
            }
        };
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
