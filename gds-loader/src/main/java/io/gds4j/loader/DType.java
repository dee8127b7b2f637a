package io.gds4j.loader;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Element types of tensors, with the names of safetensors, in the order by which its writer sorts tensors.
 *
 * @since 0.1
 */
public enum DType {
    /** One byte, 0 or 1. */
    BOOL(8),
    /** 4-bit float, two in a byte; shapes count single values. */
    F4(4),
    /** 6-bit float with 2 exponent bits. */
    F6_E2M3(6),
    /** 6-bit float with 3 exponent bits. */
    F6_E3M2(6),
    U8(8),
    I8(8),
    F8_E5M2(8),
    F8_E4M3(8),
    /** 8-bit exponent without mantissa, for block scales. */
    F8_E8M0(8),
    /** F8_E4M3 without infinities and negative zero. */
    F8_E4M3FNUZ(8),
    /** F8_E5M2 without infinities and negative zero. */
    F8_E5M2FNUZ(8),
    I16(16),
    U16(16),
    F16(16),
    BF16(16),
    I32(32),
    U32(32),
    F32(32),
    /** Complex number of two 32-bit floats. */
    C64(64),
    F64(64),
    I64(64),
    U64(64);

    private static final Map<String, DType> BY_NAME = new HashMap<>();

    static {
        for (DType dtype : values()) {
            BY_NAME.put(dtype.name(), dtype);
        }
    }

    private final int bits;

    DType(int bits) {
        this.bits = bits;
    }

    /** Returns the bits of one element. */
    public int bits() {
        return bits;
    }

    /** Returns the type with this name in files; empty for a name that safetensors does not define. */
    public static Optional<DType> of(String name) {
        return Optional.ofNullable(BY_NAME.get(name));
    }
}
