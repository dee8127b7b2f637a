package io.gds4j.tools.load;

import io.gds4j.loader.format.Metadata;
import io.gds4j.loader.format.MetadataValue;
import io.gds4j.tools.terminal.Text;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.LinkedHashMap;
import java.util.Map;

/** Metadata of a checkpoint as fields of a JSON object. */
final class MetadataJson {
    /** Elements of an array that the output shows; a tokenizer has 260,000. */
    private static final int MAX_ELEMENTS = 16;
    /** Longest text in characters; a chat template has a few thousand. */
    private static final int MAX_CHARACTERS = 1 << 16;

    private MetadataJson() {
    }

    /** Returns the values by key: texts, numbers and truth values, and for arrays their type, size and first elements. */
    static Map<String, Object> of(Metadata metadata) {
        Map<String, Object> fields = new LinkedHashMap<>();
        for (String key : metadata.keys()) {
            metadata.get(key).ifPresent(value -> fields.put(key, value(value)));
        }
        return fields;
    }

    private static Object value(MetadataValue value) {
        return switch (value) {
            case MetadataValue.Text(String text) -> Text.shortened(text, MAX_CHARACTERS);
            case MetadataValue.Whole(long number, boolean unsigned) ->
                unsigned && number < 0 ? new BigInteger(Long.toUnsignedString(number)) : (Object) number;
            // JSON has no NaN and no infinity
            case MetadataValue.Real(double number) ->
                Double.isFinite(number) ? BigDecimal.valueOf(number) : Double.toString(number);
            case MetadataValue.Truth(boolean truth) -> truth;
            case MetadataValue.Array array -> {
                Map<String, Object> fields = new LinkedHashMap<>();
                fields.put("elementType", array.elementType());
                fields.put("size", array.size());
                int shown = (int) Math.min(MAX_ELEMENTS, array.size());
                fields.put("values", array.values(0, shown).stream().map(MetadataJson::value).toList());
                yield fields;
            }
        };
    }
}
