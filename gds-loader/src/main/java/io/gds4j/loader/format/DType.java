package io.gds4j.loader.format;

import io.gds4j.error.CuFileException;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * An element type. Elements are stored in blocks: a block of most types is one element; 4-bit floats have blocks of two elements
 * in one byte; a quantised type such as GGUF's Q4_0 has blocks of 32 elements in 18 bytes, which include the scale.
 *
 * <p>
 * The constants are the types of safetensors, and C128. Formats create the other ones. Two types are equal if name and block are
 * equal; compare with {@code equals}. The natural order begins with the types of safetensors, in the order by which its writer
 * sorts tensors.
 *
 * @param id name in reports
 * @param blockElements elements of a block, 1 or more
 * @param blockBytes bytes of a block, 0 or more
 * @since 0.1
 */
public record DType(String id, int blockElements, int blockBytes) implements Comparable<DType> {

    /** One byte, 0 or 1. */
    public static final DType BOOL = new DType("BOOL", 1, 1);
    /** 4-bit float, two in a byte; shapes count single values. */
    public static final DType F4 = new DType("F4", 2, 1);
    /** 6-bit float with 2 exponent bits, four in three bytes. */
    public static final DType F6_E2M3 = new DType("F6_E2M3", 4, 3);
    /** 6-bit float with 3 exponent bits, four in three bytes. */
    public static final DType F6_E3M2 = new DType("F6_E3M2", 4, 3);
    /** Unsigned byte. */
    public static final DType U8 = new DType("U8", 1, 1);
    /** Signed byte. */
    public static final DType I8 = new DType("I8", 1, 1);
    /** 8-bit float with 5 exponent bits. */
    public static final DType F8_E5M2 = new DType("F8_E5M2", 1, 1);
    /** 8-bit float with 4 exponent bits, without infinities. */
    public static final DType F8_E4M3 = new DType("F8_E4M3", 1, 1);
    /** 8-bit exponent without mantissa, for block scales. */
    public static final DType F8_E8M0 = new DType("F8_E8M0", 1, 1);
    /** F8_E4M3 without infinities and negative zero. */
    public static final DType F8_E4M3FNUZ = new DType("F8_E4M3FNUZ", 1, 1);
    /** F8_E5M2 without infinities and negative zero. */
    public static final DType F8_E5M2FNUZ = new DType("F8_E5M2FNUZ", 1, 1);
    /** Signed 16-bit integer. */
    public static final DType I16 = new DType("I16", 1, 2);
    /** Unsigned 16-bit integer. */
    public static final DType U16 = new DType("U16", 1, 2);
    /** 16-bit float of IEEE 754. */
    public static final DType F16 = new DType("F16", 1, 2);
    /** Upper half of an F32. */
    public static final DType BF16 = new DType("BF16", 1, 2);
    /** Signed 32-bit integer. */
    public static final DType I32 = new DType("I32", 1, 4);
    /** Unsigned 32-bit integer. */
    public static final DType U32 = new DType("U32", 1, 4);
    /** 32-bit float of IEEE 754. */
    public static final DType F32 = new DType("F32", 1, 4);
    /** Complex number of two 32-bit floats. */
    public static final DType C64 = new DType("C64", 1, 8);
    /** 64-bit float of IEEE 754. */
    public static final DType F64 = new DType("F64", 1, 8);
    /** Signed 64-bit integer. */
    public static final DType I64 = new DType("I64", 1, 8);
    /** Unsigned 64-bit integer. */
    public static final DType U64 = new DType("U64", 1, 8);
    /** Complex number of two 64-bit floats; no type of safetensors. */
    public static final DType C128 = new DType("C128", 1, 16);

    private static final List<DType> SAFETENSORS = List.of(
            BOOL, F4, F6_E2M3, F6_E3M2, U8, I8, F8_E5M2, F8_E4M3, F8_E8M0, F8_E4M3FNUZ, F8_E5M2FNUZ, I16, U16, F16,
            BF16, I32,
            U32, F32, C64, F64, I64, U64);
    private static final Map<String, DType> BY_ID = byId();

    /**
     * Creates a type.
     *
     * @throws CuFileException INVALID_VALUE if a size is out of range
     */
    public DType {
        Objects.requireNonNull(id, "id");
        if (blockElements < 1 || blockBytes < 0) {
            throw CuFileException.invalid("DType",
                    "type %s has blocks of %s elements and %s bytes; allowed are 1 and more elements, 0 and more bytes"
                            .formatted(CheckpointException.quote(id), blockElements, blockBytes));
        }
    }

    private static Map<String, DType> byId() {
        Map<String, DType> types = new LinkedHashMap<>();
        SAFETENSORS.forEach(type -> types.put(type.id, type));
        types.put(C128.id, C128);
        return Collections.unmodifiableMap(types);
    }

    /**
     * Returns a type whose elements the loader moves and does not interpret, such as a structure.
     *
     * @param bytes bytes of an element, 0 or more
     * @throws CuFileException INVALID_VALUE if {@code bytes} is negative
     */
    public static DType opaque(String id, int bytes) {
        return new DType(id, 1, bytes);
    }

    /** Returns the constant with this name; empty for any other name. */
    public static Optional<DType> of(String id) {
        return Optional.ofNullable(BY_ID.get(id));
    }

    /** Returns the types of safetensors in their natural order. */
    public static List<DType> ofSafetensors() {
        return SAFETENSORS;
    }

    /** Returns the bits of one element, with its share of the block's scales; 0 if that is no whole number. */
    public int bits() {
        long bits = (long) blockBytes * Byte.SIZE;
        return bits % blockElements == 0 ? (int) Math.min(bits / blockElements, Integer.MAX_VALUE) : 0;
    }

    /**
     * Returns the bytes of a number of elements; empty if they do not fill their last block, if the size exceeds 2^63-1, or if
     * the number is negative.
     */
    public OptionalLong bytes(long elements) {
        if (elements < 0 || elements % blockElements != 0) {
            return OptionalLong.empty();
        }
        long blocks = elements / blockElements;
        long bytes = blocks * blockBytes;
        return Math.multiplyHigh(blocks, blockBytes) != 0 || bytes < 0 ? OptionalLong.empty() : OptionalLong.of(bytes);
    }

    /**
     * Returns the bytes of a tensor; empty where {@link #bytes(long)} is, or if the number of elements exceeds 2^63-1.
     *
     * @param shape dimensions, unsigned; none for a scalar
     */
    public OptionalLong bytes(List<Long> shape) {
        if (shape.contains(0L)) {
            return OptionalLong.of(0);
        }
        long elements = 1;
        for (long dimension : shape) {
            long product = elements * dimension;
            if (dimension < 0 || Math.multiplyHigh(elements, dimension) != 0 || product < 0) {
                return OptionalLong.empty();
            }
            elements = product;
        }
        return bytes(elements);
    }

    // The generated methods link themselves at their first use, which costs 4 ms of a cold load.
    @Override
    public boolean equals(Object other) {
        return other instanceof DType type
                && type.id.equals(id)
                && type.blockElements == blockElements
                && type.blockBytes == blockBytes;
    }

    @Override
    public int hashCode() {
        return (id.hashCode() * 31 + blockElements) * 31 + blockBytes;
    }

    private int rank() {
        int index = SAFETENSORS.indexOf(this);
        return index < 0 ? SAFETENSORS.size() : index;
    }

    @Override
    public int compareTo(DType other) {
        int order = Integer.compare(rank(), other.rank());
        if (order == 0) {
            order = id.compareTo(other.id);
        }
        if (order == 0) {
            order = Integer.compare(blockElements, other.blockElements);
        }
        return order == 0 ? Integer.compare(blockBytes, other.blockBytes) : order;
    }

    @Override
    public String toString() {
        return id;
    }
}
