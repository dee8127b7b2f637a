package io.gds4j.loader.format.torch;

import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.torch.PickleValue.Symbol;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/** Element types by the names that PyTorch gives to storages and dtypes. */
final class TorchTypes {
    private static final String STORAGE = "Storage";
    private static final String PAIR_OF_F4 = "float4_e2m1fn_x2";
    private static final DType C32 = DType.opaque("C32", 4);
    private static final Map<String, DType> BY_STORAGE = Map.ofEntries(
            Map.entry("Double", DType.F64),
            Map.entry("Float", DType.F32),
            Map.entry("Half", DType.F16),
            Map.entry("BFloat16", DType.BF16),
            Map.entry("Long", DType.I64),
            Map.entry("Int", DType.I32),
            Map.entry("Short", DType.I16),
            Map.entry("Char", DType.I8),
            Map.entry("Byte", DType.U8),
            Map.entry("Bool", DType.BOOL),
            Map.entry("ComplexHalf", C32),
            Map.entry("ComplexFloat", DType.C64),
            Map.entry("ComplexDouble", DType.C128));
    private static final Map<String, DType> BY_DTYPE = byDtype();

    private TorchTypes() {
    }

    private static Map<String, DType> byDtype() {
        Map<String, DType> types = new HashMap<>(Map.ofEntries(
                Map.entry("float64", DType.F64),
                Map.entry("float32", DType.F32),
                Map.entry("float16", DType.F16),
                Map.entry("bfloat16", DType.BF16),
                Map.entry("int64", DType.I64),
                Map.entry("int32", DType.I32),
                Map.entry("int16", DType.I16),
                Map.entry("int8", DType.I8),
                Map.entry("uint64", DType.U64),
                Map.entry("uint32", DType.U32),
                Map.entry("uint16", DType.U16),
                Map.entry("uint8", DType.U8),
                Map.entry("bool", DType.BOOL),
                Map.entry("complex32", C32),
                Map.entry("complex64", DType.C64),
                Map.entry("complex128", DType.C128),
                Map.entry("float8_e4m3fn", DType.F8_E4M3),
                Map.entry("float8_e4m3fnuz", DType.F8_E4M3FNUZ),
                Map.entry("float8_e5m2", DType.F8_E5M2),
                Map.entry("float8_e5m2fnuz", DType.F8_E5M2FNUZ),
                Map.entry("float8_e8m0fnu", DType.F8_E8M0)));
        types.put(PAIR_OF_F4, DType.opaque(PAIR_OF_F4, 1));
        types.put("bcomplex32", DType.opaque("bcomplex32", 4));
        // shapes of these count bytes, even where a byte has several values
        for (String name : new String[]{"bits1x8", "bits2x4", "bits4x2", "bits8"}) {
            types.put(name, DType.opaque(name, 1));
        }
        for (int bits = 1; bits < Byte.SIZE; bits++) {
            types.put("int" + bits, DType.opaque("int" + bits, 1));
            types.put("uint" + bits, DType.opaque("uint" + bits, 1));
        }
        types.put("bits16", DType.opaque("bits16", 2));
        return Map.copyOf(types);
    }

    /** Returns the type of a storage such as {@code torch.FloatStorage}; empty if its name tells no type. */
    static Optional<DType> ofStorage(Symbol type) {
        boolean known = type.module().equals("torch") || type.module().equals("torch.cuda");
        if (!known || !type.name().endsWith(STORAGE)) {
            return Optional.empty();
        }
        return Optional.ofNullable(
                BY_STORAGE.get(type.name().substring(0, type.name().length() - STORAGE.length())));
    }

    /** Returns whether elements of a type are bytes that hold two elements of F4. */
    static boolean isPairOfF4(DType type) {
        return type.id().equals(PAIR_OF_F4);
    }

    /** Returns whether a storage counts bytes and leaves the type to its tensors. */
    static boolean isUntyped(Symbol type) {
        return type.name().equals("UntypedStorage")
                && (type.module().equals("torch.storage") || type.module().equals("torch"));
    }

    /** Returns a type such as {@code torch.float8_e4m3fn}; empty if the symbol is none. */
    static Optional<DType> ofDtype(Symbol dtype) {
        return dtype.module().equals("torch") ? Optional.ofNullable(BY_DTYPE.get(dtype.name())) : Optional.empty();
    }
}
