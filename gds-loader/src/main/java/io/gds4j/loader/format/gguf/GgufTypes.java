package io.gds4j.loader.format.gguf;

import io.gds4j.loader.format.DType;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The tensor types of ggml as of 2026-08 by their number, and those that a program registered. */
final class GgufTypes {
    /** First number that ggml does not use. */
    private static final int COUNT = 43;
    private static final @Nullable DType[] KNOWN = new DType[COUNT];

    static {
        set(0, DType.F32);
        set(1, DType.F16);
        set(2, "Q4_0", 32, 18);
        set(3, "Q4_1", 32, 20);
        set(6, "Q5_0", 32, 22);
        set(7, "Q5_1", 32, 24);
        set(8, "Q8_0", 32, 34);
        set(9, "Q8_1", 32, 36);
        set(10, "Q2_K", 256, 84);
        set(11, "Q3_K", 256, 110);
        set(12, "Q4_K", 256, 144);
        set(13, "Q5_K", 256, 176);
        set(14, "Q6_K", 256, 210);
        set(15, "Q8_K", 256, 292);
        set(16, "IQ2_XXS", 256, 66);
        set(17, "IQ2_XS", 256, 74);
        set(18, "IQ3_XXS", 256, 98);
        set(19, "IQ1_S", 256, 50);
        set(20, "IQ4_NL", 32, 18);
        set(21, "IQ3_S", 256, 110);
        set(22, "IQ2_S", 256, 82);
        set(23, "IQ4_XS", 256, 136);
        set(24, DType.I8);
        set(25, DType.I16);
        set(26, DType.I32);
        set(27, DType.I64);
        set(28, DType.F64);
        set(29, "IQ1_M", 256, 56);
        set(30, DType.BF16);
        set(34, "TQ1_0", 256, 54);
        set(35, "TQ2_0", 256, 66);
        set(39, "MXFP4", 32, 17);
        set(40, "NVFP4", 64, 36);
        set(41, "Q1_0", 128, 18);
        set(42, "Q2_0", 64, 18);
    }

    static final GgufTypes GGML = new GgufTypes(Map.of());

    private final Map<Integer, DType> registered;

    private GgufTypes(Map<Integer, DType> registered) {
        this.registered = registered;
    }

    private static void set(int number, String id, int blockElements, int blockBytes) {
        set(number, new DType(id, blockElements, blockBytes));
    }

    private static void set(int number, DType type) {
        KNOWN[number] = type;
    }

    /** Returns the types of ggml, each at its number; null where the number has no type. */
    static @Nullable DType known(int number) {
        return number >= 0 && number < COUNT ? KNOWN[number] : null;
    }

    /** Returns the type with a number, or null. */
    @Nullable
    DType get(int number) {
        DType known = known(number);
        return known == null ? registered.get(number) : known;
    }

    GgufTypes with(int number, DType type) {
        Map<Integer, DType> more = new TreeMap<>(registered);
        more.put(number, type);
        return new GgufTypes(more);
    }

    /** Says what a number without a type is, for messages. */
    static String describe(int number) {
        if (number >= 0 && number < COUNT) {
            return "type %s was removed from ggml; convert the model again with a current llama.cpp".formatted(number);
        }
        return "type %s is not in ggml 2026-08 (a private type of a fork?); GgufFormat.withType registers it"
                .formatted(number);
    }
}
