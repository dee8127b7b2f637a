package io.gds4j.loader.format.numpy;

import io.gds4j.internal.text.PythonLiteral.Malformed;
import io.gds4j.internal.text.PythonLiteral.Value;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.DType;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Element types by NumPy's array protocol, such as {@code <f4}, and structures of them. */
final class NpyTypes {
    private static final int BYTES_OF_CODE_POINT = 4;
    private static final int BYTES_OF_TIME = 8;
    private static final Map<String, DType> NUMBERS = Map.ofEntries(
            Map.entry("b1", DType.BOOL),
            Map.entry("i1", DType.I8),
            Map.entry("i2", DType.I16),
            Map.entry("i4", DType.I32),
            Map.entry("i8", DType.I64),
            Map.entry("u1", DType.U8),
            Map.entry("u2", DType.U16),
            Map.entry("u4", DType.U32),
            Map.entry("u8", DType.U64),
            Map.entry("f2", DType.F16),
            Map.entry("f4", DType.F32),
            Map.entry("f8", DType.F64),
            Map.entry("f16", DType.opaque("f16", 16)),
            Map.entry("c8", DType.C64),
            Map.entry("c16", DType.C128),
            Map.entry("c32", DType.opaque("c32", 32)));

    /** Names and letters that numpy.dtype takes for them, on Linux; writers other than NumPy use the names. */
    private static final Map<String, String> SPELLINGS = spellings(
            "b1 ? bool bool_", "i1 b int8 byte", "i2 h int16 short", "i4 i int32 intc",
            "i8 l q p n int64 int int_ long longlong intp", "u1 B uint8 ubyte", "u2 H uint16 ushort",
            "u4 I uint32 uintc",
            "u8 L Q P N uint64 uint ulong ulonglong uintp", "f2 e float16 half", "f4 f float32 single",
            "f8 d float64 float double", "f16 g float128 longdouble", "c8 F complex64 csingle",
            "c16 D complex128 complex cdouble", "c32 G complex256 clongdouble", "S1 c", "O object", "M8 M", "m8 m");

    /** A description within a structure, and how often it occurs in it. */
    private record Part(Value descr, long count) {
    }

    /** A part of a structure in a text, such as {@code 2f4} and {@code (2,3)i1} of {@code "2f4, (2,3)i1"}. */
    private static final Pattern ITEM = Pattern.compile(
            "\\G *([<>=|]?)(\\d*|\\([\\d, ]*\\)) *([<>=|]?[?A-Za-z][A-Za-z0-9_]*(?:\\[[^\\[\\]]*\\])?) *(?:,|$)");
    private static final Pattern SIZES = Pattern.compile("[(), ]+");
    private static final Pattern SHAPE = Pattern.compile("\\([^)]*\\)");

    private NpyTypes() {
    }

    private static Map<String, String> spellings(String... lines) {
        Map<String, String> plain = new HashMap<>();
        for (String line : lines) {
            String[] words = line.split(" ");
            for (String word : words) {
                plain.put(word, words[0]);
            }
        }
        return plain;
    }

    /** Returns the type of the value of {@code descr}. */
    static DType of(Value descr) throws Malformed {
        if (descr instanceof Value.Text(String text) && SHAPE.matcher(text).replaceAll("").indexOf(',') < 0) {
            return simple(text);
        }
        long bytes = 0;
        Deque<Part> open = new ArrayDeque<>();
        open.push(new Part(descr, 1));
        while (!open.isEmpty()) {
            Part part = open.pop();
            switch (part.descr) {
                case Value.Text(String text) -> bytes = add(bytes, multiply(bytes(text), part.count));
                case Value.Sequence(boolean tuple, List<Value> fields) when !tuple -> {
                    for (Value field : fields) {
                        open.push(field(field, part.count));
                    }
                }
                default -> throw broken("has a type that is neither a text nor a list of fields");
            }
        }
        return DType.opaque("V" + bytes, (int) bytes);
    }

    /** Returns the bytes of a type, or of several with commas, each perhaps behind the shape of an array of it. */
    private static long bytes(String text) throws Malformed {
        Matcher item = ITEM.matcher(text);
        long bytes = 0;
        int end = 0;
        while (end < text.length() && item.find()) {
            long size = simple(item.group(1) + item.group(3)).blockBytes();
            for (String count : SIZES.split(item.group(2))) {
                size = count.isEmpty() ? size : multiply(size, digits(count, 0, count));
            }
            bytes = add(bytes, size);
            end = item.end();
        }
        if (end < text.length() || text.isEmpty()) {
            throw broken("has the unknown type " + CheckpointException.quote(text));
        }
        return bytes;
    }

    /** A field: name or (title, name), type, and the shape of an array of it. */
    private static Part field(Value field, long count) throws Malformed {
        if (!(field instanceof Value.Sequence(boolean tuple, List<Value> parts))
                || !tuple
                || parts.size() < 2
                || parts.size() > 3) {
            throw broken("has a structure with a field that is no tuple of name, type and perhaps shape");
        }
        long product = count;
        if (parts.size() == 3) {
            List<Value> dimensions = parts.get(2) instanceof Value.Sequence(boolean shape, List<Value> all) && shape
                    ? all
                    : List.of(parts.get(2));
            for (Value dimension : dimensions) {
                if (!(dimension instanceof Value.Whole(long size)) || size < 0) {
                    throw broken("has a structure with a field whose shape is no tuple of numbers");
                }
                product = multiply(product, size);
            }
        }
        return new Part(parts.get(1), product);
    }

    private static DType simple(String text) throws Malformed {
        String quoted = CheckpointException.quote(text);
        if (text.isEmpty()) {
            throw broken("has the unknown type " + quoted);
        }
        char order = text.charAt(0);
        boolean ordered = text.length() > 1 && (order == '<' || order == '>' || order == '|' || order == '=');
        String told = ordered ? text.substring(1) : text;
        String plain = !ordered || told.length() == 1 ? SPELLINGS.getOrDefault(told, told) : told;
        char kind = plain.charAt(0);
        if (kind == 'O') {
            throw broken("has Python objects (type %s), which only Python can read".formatted(quoted));
        }
        if (plain.startsWith("datetime64") || plain.startsWith("timedelta64")) {
            plain = (kind == 'd' ? "M8" : "m8") + plain.substring(plain.indexOf('4') + 1);
            kind = plain.charAt(0);
        }
        if ((kind == 'M' || kind == 'm') && plain.startsWith("8", 1)) {
            boolean unit = plain.length() == 2 || plain.charAt(2) == '[' && plain.endsWith("]");
            if (unit) {
                requireLittle(order, BYTES_OF_TIME, quoted);
                return DType.opaque(shorten(plain), BYTES_OF_TIME);
            }
        }
        DType number = NUMBERS.get(plain);
        if (number != null) {
            requireLittle(order, number.blockBytes(), quoted);
            return number;
        }
        if (kind == 'V' || kind == 'S' || kind == 'a' || kind == 'U') {
            long bytes = digits(plain, 1, quoted);
            if (kind == 'U') {
                requireLittle(order, BYTES_OF_CODE_POINT, quoted);
                bytes = multiply(bytes, BYTES_OF_CODE_POINT);
            }
            return DType.opaque(shorten(plain), (int) bytes);
        }
        throw broken("has the unknown type " + quoted);
    }

    private static String shorten(String text) {
        return text.length() <= 40 ? text : text.substring(0, 40);
    }

    private static long digits(String plain, int first, String quoted) throws Malformed {
        long value = 0;
        for (int i = first; i < plain.length(); i++) {
            int digit = plain.charAt(i) - '0';
            if (digit < 0 || digit > 9) {
                throw broken("has the unknown type " + quoted);
            }
            value = add(multiply(value, 10), digit);
        }
        return value;
    }

    private static void requireLittle(char order, int bytes, String quoted) throws Malformed {
        if (order == '>' && bytes > 1) {
            throw broken("is big-endian (type %s); only little-endian arrays are read".formatted(quoted));
        }
    }

    private static long multiply(long a, long b) throws Malformed {
        // both factors are at most the size of an element or an unchecked dimension
        if (Math.multiplyHigh(a, b) != 0) {
            throw tooLarge();
        }
        return fit(a * b);
    }

    private static long add(long a, long b) throws Malformed {
        return fit(a + b);
    }

    private static long fit(long bytes) throws Malformed {
        if (bytes < 0 || bytes > Integer.MAX_VALUE) {
            throw tooLarge();
        }
        return bytes;
    }

    private static Malformed tooLarge() {
        return broken("has an element of more than %s bytes".formatted(Integer.MAX_VALUE));
    }

    private static Malformed broken(String detail) {
        return new Malformed(0, detail);
    }
}
