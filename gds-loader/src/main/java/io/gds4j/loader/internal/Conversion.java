package io.gds4j.loader.internal;

import io.gds4j.loader.format.DType;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/**
 * Converts elements of a type that {@link FloatDecoder} decodes to F32, F16 or BF16, rounded to the nearest value, ties to even. Immutable
 * and thread-safe.
 *
 * @param type the type of the result
 */
public record Conversion(DType from, DType type, FloatDecoder decoder) {

    private static final ValueLayout.OfShort SHORT =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfFloat FLOAT =
            ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    /** Elements that pass through arrays at a time: they stay in the processor's caches. */
    private static final int PART = 4096;
    private static final int BF16_QUIET = 0x40;

    /** Writes floats to their places. */
    @FunctionalInterface
    private interface Encoder {
        void encode(float[] from, int count, MemorySegment to, long offset);
    }

    /** Rounds a float to a type of two bytes. */
    @FunctionalInterface
    private interface Rounding {
        short of(float value);
    }

    private static final Map<DType, Encoder> ENCODERS = Map.of(
            DType.F32, (from, count, to, offset) -> MemorySegment.copy(from, 0, to, FLOAT, offset, count),
            DType.F16, rounded(Float::floatToFloat16),
            DType.BF16, rounded(Conversion::bfloat16));

    private static Encoder rounded(Rounding rounding) {
        return (from, count, to, offset) -> {
            short[] shorts = new short[count];
            for (int i = 0; i < count; i++) {
                shorts[i] = rounding.of(from[i]);
            }
            MemorySegment.copy(shorts, 0, to, SHORT, offset, count);
        };
    }

    private static short bfloat16(float value) {
        int bits = Float.floatToRawIntBits(value);
        int high = bits >>> Short.SIZE;
        return (short) (Float.isNaN(value) ? high | BF16_QUIET : bits + 0x7fff + (high & 1) >>> Short.SIZE);
    }

    /** Returns whether elements can become this type. */
    public static boolean isTarget(DType type) {
        return ENCODERS.containsKey(type);
    }

    /** Returns the conversion to a type that {@link #isTarget}; empty for elements that have it, or that are no floats. */
    public static Optional<Conversion> of(DType from, DType type) {
        return from.equals(type) ? Optional.empty()
                : FloatDecoder.of(from).map(decoder -> new Conversion(from, type, decoder));
    }

    private long elements(long bytes) {
        return bytes / from.blockBytes() * from.blockElements();
    }

    /** Returns the size in bytes of what {@code bytes} bytes of a tensor become. */
    public long bytes(long bytes) {
        return elements(bytes) * type.blockBytes();
    }

    /** Converts all elements: those in GPU memory by the GPU that holds them. */
    public void convert(MemoryRange source, MemoryRange to, MemoryAllocator allocator) {
        if (source.kind().isCuda()) {
            allocator.convert(source, from.id(), to, type.id());
        } else {
            convert(source.segment().orElseThrow(), to.segment().orElseThrow());
        }
    }

    /** Converts all elements. */
    public void convert(MemorySegment source, MemorySegment to) {
        Encoder encoder = Objects.requireNonNull(ENCODERS.get(type));
        float[] floats = new float[PART];
        long elements = elements(source.byteSize());
        for (long first = 0; first < elements; first += PART) {
            int count = (int) Math.min(PART, elements - first);
            decoder.decode(source, first, floats, 0, count);
            encoder.encode(floats, count, to, first * type.blockBytes());
        }
    }
}
