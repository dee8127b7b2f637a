package io.gds4j.loader.format.gguf;

import io.gds4j.loader.format.MetadataValue;

/** Types of metadata values by their number in the file. */
enum GgufValueType {
    UINT8(1),
    INT8(1),
    UINT16(2),
    INT16(2),
    UINT32(4),
    INT32(4),
    FLOAT32(4),
    BOOL(1),
    /** A length of 8 bytes, then the text. */
    STRING(8),
    /** Type and number of the elements, then the elements. */
    ARRAY(12),
    UINT64(8),
    INT64(8),
    FLOAT64(8);

    private static final GgufValueType[] ALL = values();

    /** Bytes of a value; of strings and arrays the fewest. */
    final int bytes;

    GgufValueType(int bytes) {
        this.bytes = bytes;
    }

    /** Reads the number of a type. */
    static GgufValueType read(GgufCursor in, String what) {
        long at = in.offset();
        int number = in.int32(what);
        if (number < 0 || number >= ALL.length) {
            throw in.failure(GgufRules.VALUE, at, "%s has type %s; allowed are 0 to 12".formatted(what, number));
        }
        return ALL[number];
    }

    /** Reads a number or a truth value; the type must be one of these. */
    MetadataValue scalar(GgufCursor in, String what) {
        return switch (this) {
            case UINT8 -> new MetadataValue.Whole(in.int8(what) & 0xffL, false);
            case INT8 -> new MetadataValue.Whole(in.int8(what), false);
            case UINT16 -> new MetadataValue.Whole(in.int16(what) & 0xffffL, false);
            case INT16 -> new MetadataValue.Whole(in.int16(what), false);
            case UINT32 -> new MetadataValue.Whole(in.int32(what) & 0xffffffffL, false);
            case INT32 -> new MetadataValue.Whole(in.int32(what), false);
            case FLOAT32 -> new MetadataValue.Real(Float.intBitsToFloat(in.int32(what)));
            case BOOL -> new MetadataValue.Truth(truth(in, what));
            case UINT64 -> new MetadataValue.Whole(in.int64(what), true);
            case INT64 -> new MetadataValue.Whole(in.int64(what), false);
            case FLOAT64 -> new MetadataValue.Real(Double.longBitsToDouble(in.int64(what)));
            case STRING, ARRAY -> throw new AssertionError(this);
        };
    }

    /** Reads a truth value, which must be 0 or 1. */
    static boolean truth(GgufCursor in, String what) {
        long at = in.offset();
        byte value = in.int8(what);
        if ((value & ~1) != 0) {
            throw in.failure(GgufRules.VALUE, at, "%s is %s; a BOOL must be 0 or 1".formatted(what, value & 0xff));
        }
        return value == 1;
    }
}
