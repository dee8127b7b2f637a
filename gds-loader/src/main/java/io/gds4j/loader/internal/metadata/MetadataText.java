package io.gds4j.loader.internal.metadata;

import io.gds4j.error.CuFileException;
import io.gds4j.internal.text.InertText;
import io.gds4j.loader.format.Metadata;
import io.gds4j.loader.format.MetadataValue;
import io.gds4j.loader.internal.text.StrictJson;
import io.gds4j.loader.internal.text.StrictJson.Malformed;
import io.gds4j.loader.internal.text.StrictJson.Token;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import org.jspecify.annotations.Nullable;

/**
 * Typed metadata in {@code __metadata__} of safetensors, which has texts only. Each value is a text under its own key, which any
 * reader understands: numbers in decimal, arrays as JSON. The entry {@link #TYPES} has a JSON object of the types by key, from
 * which {@link #typed} restores the values.
 *
 * @param text the value
 * @param type its type
 */
public record MetadataText(String text, String type) {
    /** Key of the types. */
    public static final String TYPES = "gds4j.metadata";

    private static final String WHOLE = "whole";
    private static final String UNSIGNED = "unsigned";
    private static final String REAL = "real";
    private static final String TRUTH = "truth";
    private static final String ARRAY = "array ";
    /** Element types of arrays whose whole numbers are unsigned, and of those whose texts are NaN and infinities. */
    private static final String UNSIGNED_ELEMENTS = "UINT64";
    private static final String REAL_ELEMENTS = "FLOAT";
    private static final String ARRAY_ELEMENTS = "ARRAY";
    /** Longest array in characters: as many bytes as a header of safetensors may have. */
    private static final int LONGEST = 100_000_000;
    /** Elements that an array is asked for at a time. */
    private static final int STEP = 4096;

    /**
     * Returns a value that is no text as text.
     *
     * @param function public function for messages
     * @throws CuFileException INVALID_VALUE for an array that no header of safetensors can hold; as
     *         {@link MetadataValue.Array#values}
     */
    public static MetadataText of(String function, String key, MetadataValue value) {
        return switch (value) {
            case MetadataValue.Text text -> throw new IllegalArgumentException("a text has no other type");
            case MetadataValue.Whole whole -> new MetadataText(whole.toString(), whole.unsigned() ? UNSIGNED : WHOLE);
            case MetadataValue.Real real -> new MetadataText(real.toString(), REAL);
            case MetadataValue.Truth truth -> new MetadataText(truth.toString(), TRUTH);
            case MetadataValue.Array array -> {
                StringBuilder json = new StringBuilder();
                if (!append(json, array)) {
                    throw CuFileException.invalid(function,
                            "metadata %s has %s elements, more than a header of %s bytes holds"
                                    .formatted(InertText.quote(key), array.size(), LONGEST));
                }
                yield new MetadataText(json.toString(), ARRAY + array.elementType() + " " + array.size());
            }
        };
    }

    /** Returns false if the array becomes too long. */
    private static boolean append(StringBuilder json, MetadataValue.Array array) {
        json.append('[');
        for (long first = 0; first < array.size(); first += STEP) {
            for (MetadataValue element : array.values(first, (int) Math.min(STEP, array.size() - first))) {
                boolean fits = switch (element) {
                    case MetadataValue.Array nested -> append(json, nested);
                    case MetadataValue.Text(String text) -> quote(json, text);
                    case MetadataValue.Real(double number) when !Double.isFinite(number) ->
                        quote(json, Double.toString(number));
                    default -> json.append(element).length() < LONGEST;
                };
                if (!fits) {
                    return false;
                }
                json.append(',');
            }
        }
        if (array.size() > 0) {
            json.setLength(json.length() - 1);
        }
        json.append(']');
        return true;
    }

    private static boolean quote(StringBuilder json, String text) {
        StrictJson.quote(json, text);
        return json.length() < LONGEST;
    }

    /** Returns the entry {@link #TYPES} for values by key. */
    public static String types(SortedMap<String, MetadataText> values) {
        StringBuilder json = new StringBuilder("{");
        values.forEach((key, value) -> {
            json.append(json.length() == 1 ? "" : ",");
            StrictJson.quote(json, key);
            json.append(':');
            StrictJson.quote(json, value.type);
        });
        return json.append('}').toString();
    }

    /** Returns the entries of a header with the types that its entry {@link #TYPES} names; all others are texts. */
    public static Metadata typed(Map<String, String> strings) {
        String types = strings.get(TYPES);
        if (types == null) {
            return Metadata.ofStrings(strings);
        }
        Map<String, MetadataValue> values = LinkedHashMap.newLinkedHashMap(strings.size());
        strings.forEach((key, text) -> values.put(key, new MetadataValue.Text(text)));
        try {
            StrictJson in = new StrictJson(types.getBytes(StandardCharsets.UTF_8));
            in.expect(Token.START_OBJECT, TYPES, "an object");
            while (in.next() == Token.NAME) {
                String key = in.text();
                String type = in.string("a type");
                String text = strings.get(key);
                MetadataValue value = text == null ? null : value(text, type);
                if (value != null) {
                    values.put(key, value);
                }
            }
            in.end();
            values.remove(TYPES);
        } catch (Malformed e) {
            // not of this class: texts they are
            return Metadata.ofStrings(strings);
        }
        return Metadata.of(values);
    }

    /** Returns null if the text is not of the type. */
    private static @Nullable MetadataValue value(String text, String type) {
        try {
            return switch (type) {
                case WHOLE -> new MetadataValue.Whole(Long.parseLong(text), false);
                case UNSIGNED -> new MetadataValue.Whole(Long.parseUnsignedLong(text), true);
                case REAL -> new MetadataValue.Real(Double.parseDouble(text));
                case TRUTH -> new MetadataValue.Truth(text.equals("true"));
                default -> type.startsWith(ARRAY) ? array(text, type) : null;
            };
        } catch (NumberFormatException e) {
            return null;
        }
    }

    private static @Nullable MetadataValue array(String text, String type) {
        int end = type.lastIndexOf(' ');
        if (end < ARRAY.length()) {
            return null;
        }
        long size = Long.parseLong(type.substring(end + 1));
        return size < 0 ? null : new TextArray(
                type.substring(ARRAY.length(), end), size, text.getBytes(StandardCharsets.UTF_8));
    }

    /**
     * An array in JSON. It is parsed when a program asks for elements, and no further than these: opening a checkpoint stays quick, and
     * memory in proportion to what was asked for. Elements in order are parsed once.
     */
    private static final class TextArray implements MetadataValue.Array {
        private final String elementType;
        private final long size;
        private final byte[] json;
        private @Nullable StrictJson parser;
        /** Index of the element that the parser reads next. */
        private long next;

        TextArray(String elementType, long size, byte[] json) {
            this.elementType = elementType;
            this.size = size;
            this.json = json;
        }

        @Override
        public String elementType() {
            return elementType;
        }

        @Override
        public long size() {
            return size;
        }

        @Override
        public synchronized List<MetadataValue> values(long first, int count) {
            if (first < 0 || count < 0 || first > size - count) {
                throw CuFileException.invalid("MetadataValue.Array.values",
                        "%s elements from %s on are not within the array of %s".formatted(count, first, size));
            }
            try {
                StrictJson in = at(first);
                // a wrong size must not reserve memory: no element is shorter than two bytes
                List<MetadataValue> elements = new ArrayList<>(Math.min(count, json.length / 2));
                for (int i = 0; i < count; i++) {
                    elements.add(element(in, token(in)));
                    next++;
                }
                if (next == size) {
                    in.expect(Token.END_ARRAY, "the element after the last", "an end");
                    in.end();
                    parser = null;
                }
                return Collections.unmodifiableList(elements);
            } catch (Malformed | NumberFormatException e) {
                parser = null;
                throw CuFileException.invalid("MetadataValue.Array.values",
                        "the array is broken: " + InertText.line(String.valueOf(e.getMessage()), 200));
            }
        }

        /** Returns the parser in front of an element. */
        private StrictJson at(long first) throws Malformed {
            StrictJson in = parser;
            if (in == null || next > first) {
                in = new StrictJson(json);
                in.expect(Token.START_ARRAY, "an array", "one JSON array");
                parser = in;
                next = 0;
            }
            while (next < first) {
                token(in);
                in.skip();
                next++;
            }
            return in;
        }

        private Token token(StrictJson in) throws Malformed {
            Token token = in.next();
            if (token == Token.END_ARRAY) {
                throw in.here("it has %s elements, its type says %s".formatted(next, size));
            }
            return token;
        }

        private MetadataValue element(StrictJson in, Token token) throws Malformed {
            return switch (token) {
                case STRING -> elementType.startsWith(REAL_ELEMENTS)
                        ? new MetadataValue.Real(Double.parseDouble(in.text()))
                        : new MetadataValue.Text(in.text());
                case NUMBER -> number(in.text());
                case TRUE -> new MetadataValue.Truth(true);
                case FALSE -> new MetadataValue.Truth(false);
                case START_ARRAY -> nested(in);
                default -> throw in.here("found " + in.found());
            };
        }

        private MetadataValue number(String text) {
            if (text.indexOf('.') >= 0 || text.indexOf('e') >= 0 || text.indexOf('E') >= 0) {
                return new MetadataValue.Real(Double.parseDouble(text));
            }
            return elementType.equals(UNSIGNED_ELEMENTS)
                    ? new MetadataValue.Whole(Long.parseUnsignedLong(text), true)
                    : new MetadataValue.Whole(Long.parseLong(text), false);
        }

        /** Returns an array within this one, of the type that its first element tells. */
        private MetadataValue nested(StrictJson in) throws Malformed {
            int begin = in.mark();
            String type = ARRAY_ELEMENTS;
            long count = 0;
            for (Token token = in.next(); token != Token.END_ARRAY; token = in.next()) {
                if (count == 0) {
                    type = switch (token) {
                        case STRING -> "STRING";
                        case TRUE, FALSE -> "BOOL";
                        case NUMBER -> in.text().indexOf('.') >= 0 ? "FLOAT64" : "INT64";
                        default -> ARRAY_ELEMENTS;
                    };
                }
                in.skip();
                count++;
            }
            return new TextArray(type, count, Arrays.copyOfRange(json, begin, in.mark() + 1));
        }

        @Override
        public String toString() {
            return "%s[%s]".formatted(elementType, size);
        }
    }
}
