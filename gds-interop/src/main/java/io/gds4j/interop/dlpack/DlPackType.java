package io.gds4j.interop.dlpack;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.DType;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * An element type of DLPack ({@code DLDataType}).
 *
 * @param code kind of number ({@code DLDataTypeCode}), 0 to 17
 * @param bits bits of a lane, 1 to 255; floats of 4, 6 and 8 bits have a code each
 * @param lanes lanes of a vector, 1 to 65535; 1 for a plain number
 * @since 0.1
 */
public record DlPackType(int code, int bits, int lanes) {

    private static final int INT = 0;
    private static final int UINT = 1;
    private static final int FLOAT = 2;
    private static final int OPAQUE = 3;
    private static final int BFLOAT = 4;
    private static final int COMPLEX = 5;
    private static final int BOOL = 6;
    private static final int F8_E3M4 = 7;
    private static final int F8_E4M3FN = 10;
    private static final int F8_E4M3FNUZ = 11;
    private static final int F8_E5M2 = 12;
    private static final int F8_E5M2FNUZ = 13;
    private static final int F8_E8M0FNU = 14;
    private static final int F6_E2M3FN = 15;
    private static final int F6_E3M2FN = 16;
    private static final int F4_E2M1FN = 17;

    private static final Map<DType, DlPackType> BY_DTYPE = byDType();

    /**
     * Creates a type.
     *
     * @throws io.gds4j.error.CuFileException INVALID_VALUE for an unknown code, an opaque handle, numbers out of range, or bits
     *         that do not belong to the code
     */
    public DlPackType {
        if (code < INT || code > F4_E2M1FN || code == OPAQUE) {
            throw Refusals.invalid("type code %s is unknown; allowed are 0 to %s without %s, an opaque handle"
                    .formatted(code, F4_E2M1FN, OPAQUE));
        }
        int fixed = bitsOf(code);
        if (bits < 1 || bits > 255 || fixed != 0 && bits != fixed) {
            throw Refusals.invalid("type code %s has %s bits; allowed are %s"
                    .formatted(code, bits, fixed == 0 ? "1 to 255" : String.valueOf(fixed)));
        }
        if (lanes < 1 || lanes > 65535) {
            throw Refusals.invalid("the type has %s lanes; allowed are 1 to 65535".formatted(lanes));
        }
    }

    /** Returns the only number of bits of a code; 0 if there are several. */
    private static int bitsOf(int code) {
        return switch (code) {
            case F6_E2M3FN, F6_E3M2FN -> 6;
            case F4_E2M1FN -> 4;
            default -> code >= F8_E3M4 && code <= F8_E8M0FNU ? 8 : 0;
        };
    }

    private static Map<DType, DlPackType> byDType() {
        Map<DType, DlPackType> types = new LinkedHashMap<>();
        types.put(DType.BOOL, new DlPackType(BOOL, 8, 1));
        types.put(DType.F4, new DlPackType(F4_E2M1FN, 4, 1));
        types.put(DType.F6_E2M3, new DlPackType(F6_E2M3FN, 6, 1));
        types.put(DType.F6_E3M2, new DlPackType(F6_E3M2FN, 6, 1));
        types.put(DType.U8, new DlPackType(UINT, 8, 1));
        types.put(DType.I8, new DlPackType(INT, 8, 1));
        types.put(DType.F8_E5M2, new DlPackType(F8_E5M2, 8, 1));
        types.put(DType.F8_E4M3, new DlPackType(F8_E4M3FN, 8, 1));
        types.put(DType.F8_E8M0, new DlPackType(F8_E8M0FNU, 8, 1));
        types.put(DType.F8_E4M3FNUZ, new DlPackType(F8_E4M3FNUZ, 8, 1));
        types.put(DType.F8_E5M2FNUZ, new DlPackType(F8_E5M2FNUZ, 8, 1));
        types.put(DType.I16, new DlPackType(INT, 16, 1));
        types.put(DType.U16, new DlPackType(UINT, 16, 1));
        types.put(DType.F16, new DlPackType(FLOAT, 16, 1));
        types.put(DType.BF16, new DlPackType(BFLOAT, 16, 1));
        types.put(DType.I32, new DlPackType(INT, 32, 1));
        types.put(DType.U32, new DlPackType(UINT, 32, 1));
        types.put(DType.F32, new DlPackType(FLOAT, 32, 1));
        types.put(DType.C64, new DlPackType(COMPLEX, 64, 1));
        types.put(DType.F64, new DlPackType(FLOAT, 64, 1));
        types.put(DType.I64, new DlPackType(INT, 64, 1));
        types.put(DType.U64, new DlPackType(UINT, 64, 1));
        types.put(DType.C128, new DlPackType(COMPLEX, 128, 1));
        return Collections.unmodifiableMap(types);
    }

    /**
     * Returns the equivalent of an element type of a checkpoint. F8_E4M3 of safetensors is E4M3FN of DLPack.
     *
     * @throws io.gds4j.error.CuFileException INVALID_VALUE for a type without an equivalent, such as a quantised type
     */
    public static DlPackType of(DType dtype) {
        DlPackType type = BY_DTYPE.get(dtype);
        if (type == null) {
            throw Refusals.invalid("type %s has no equivalent in DLPack; export its bytes as U8"
                    .formatted(CheckpointException.quote(dtype.id())));
        }
        return type;
    }

    /** Returns the equivalent element type of a checkpoint; empty for a vector and for types that no checkpoint has. */
    public Optional<DType> dtype() {
        return BY_DTYPE.entrySet().stream()
                .filter(entry -> entry.getValue().equals(this))
                .map(Map.Entry::getKey)
                .findFirst();
    }

    /** Returns the bits of an element with all its lanes. */
    public int elementBits() {
        return bits * lanes;
    }
}
