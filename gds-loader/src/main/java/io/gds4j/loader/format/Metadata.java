package io.gds4j.loader.format;

import io.gds4j.error.CuFileException;
import io.gds4j.loader.internal.text.StrictJson;
import io.gds4j.loader.internal.text.StrictJson.Token;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.Set;

/**
 * Metadata of a file: values by key. A format may read a value from the file when a program asks for it; it then throws
 * {@link io.gds4j.error.CuFileException} if the file changed since it was opened. Immutable and thread-safe.
 *
 * @since 0.1
 */
public interface Metadata {
    /** Returns the keys in the order of the file. */
    Set<String> keys();

    /** Returns the value of a key; empty if the file does not have the key. */
    Optional<MetadataValue> get(String key);

    /**
     * Returns a whole number. Formats whose values are all text, such as safetensors, have it in decimal digits ({@link Long#parseLong}).
     *
     * <pre>{@code
     * long blocks = checkpoint.typedMetadata().getLong("llama.block_count").orElseThrow();
     * }</pre>
     *
     * @return the number; empty if the file does not have the key
     * @throws CuFileException INVALID_VALUE for a value that is no whole number, or that exceeds 2^63-1; otherwise as {@link #get}
     */
    default OptionalLong getLong(String key) {
        MetadataValue value = get(key).orElse(null);
        if (value == null) {
            return OptionalLong.empty();
        }
        if (value instanceof MetadataValue.Whole(long number, boolean unsigned) && (number >= 0 || !unsigned)) {
            return OptionalLong.of(number);
        }
        if (value instanceof MetadataValue.Text(String text)) {
            try {
                return OptionalLong.of(Long.parseLong(text));
            } catch (NumberFormatException e) {
                throw notA("whole number", key, value);
            }
        }
        throw notA("whole number up to 2^63-1", key, value);
    }

    /**
     * Returns a number. Whole numbers are rounded to the nearest double; texts are read by {@link Double#parseDouble}.
     *
     * @return the number; empty if the file does not have the key
     * @throws CuFileException INVALID_VALUE for a value that is no number; otherwise as {@link #get}
     */
    default OptionalDouble getDouble(String key) {
        MetadataValue value = get(key).orElse(null);
        if (value == null) {
            return OptionalDouble.empty();
        }
        if (value instanceof MetadataValue.Real(double number)) {
            return OptionalDouble.of(number);
        }
        if (value instanceof MetadataValue.Whole || value instanceof MetadataValue.Text) {
            try {
                return OptionalDouble.of(Double.parseDouble(value.toString()));
            } catch (NumberFormatException e) {
                throw notA("number", key, value);
            }
        }
        throw notA("number", key, value);
    }

    /**
     * Returns a text.
     *
     * @return the text; empty if the file does not have the key
     * @throws CuFileException INVALID_VALUE for a value that is no text; otherwise as {@link #get}
     */
    default Optional<String> getString(String key) {
        return get(key).map(value -> {
            if (value instanceof MetadataValue.Text(String text)) {
                return text;
            }
            throw notA("text", key, value);
        });
    }

    /**
     * Returns an array of texts, such as the tokens of a vocabulary. All of them are read at once. Formats whose values are all text, such as
     * safetensors, have it as JSON: {@code ["<unk>", "a"]}. A text that is no JSON array is no array of one text.
     *
     * @return an immutable list; empty if the file does not have the key
     * @throws CuFileException INVALID_VALUE for a value that is no array, or that has other elements or more than 2^31-1; otherwise as
     *         {@link #get}
     */
    default Optional<List<String>> getStrings(String key) {
        return get(key).map(value -> {
            if (value instanceof MetadataValue.Text(String json)) {
                return texts(json).orElseThrow(() -> notA("array of texts", key, value));
            }
            if (!(value instanceof MetadataValue.Array array) || array.size() > Integer.MAX_VALUE) {
                throw notA("array of texts", key, value);
            }
            List<String> texts = new ArrayList<>();
            for (MetadataValue element : array.values(0, (int) array.size())) {
                if (!(element instanceof MetadataValue.Text(String text))) {
                    throw notA("array of texts", key, value);
                }
                texts.add(text);
            }
            return List.copyOf(texts);
        });
    }

    /** Returns the texts of an array in JSON; empty if it is none. */
    private static Optional<List<String>> texts(String json) {
        try {
            StrictJson in = new StrictJson(json.getBytes(StandardCharsets.UTF_8));
            in.expect(Token.START_ARRAY, "the value", "an array");
            List<String> texts = new ArrayList<>();
            for (Token token = in.next(); token != Token.END_ARRAY; token = in.next()) {
                if (token != Token.STRING) {
                    return Optional.empty();
                }
                texts.add(in.text());
            }
            in.end();
            return Optional.of(List.copyOf(texts));
        } catch (StrictJson.Malformed e) {
            return Optional.empty();
        }
    }

    private static CuFileException notA(String wanted, String key, MetadataValue value) {
        String is = value instanceof MetadataValue.Array array
                ? "an array of %s %s".formatted(array.size(), array.elementType())
                : CheckpointException.quote(value.toString());
        return CuFileException.invalid("Metadata", "the value of %s is no %s: %s".formatted(
                CheckpointException.quote(key), wanted, is));
    }

    /** Returns the values that are text, by key in the order of the file. */
    default Map<String, String> strings() {
        Map<String, String> strings = new LinkedHashMap<>();
        for (String key : keys()) {
            if (get(key).orElse(null) instanceof MetadataValue.Text(String text)) {
                strings.put(key, text);
            }
        }
        return Collections.unmodifiableMap(strings);
    }

    /** Returns metadata with these values, all of them text. */
    static Metadata ofStrings(Map<String, String> strings) {
        Map<String, MetadataValue> values = new LinkedHashMap<>();
        strings.forEach((key, value) -> values.put(key, new MetadataValue.Text(value)));
        return of(values);
    }

    /** Returns metadata with these values. */
    static Metadata of(Map<String, MetadataValue> values) {
        Map<String, MetadataValue> copy = Collections.unmodifiableMap(new LinkedHashMap<>(values));
        return new Metadata() {
            @Override
            public Set<String> keys() {
                return copy.keySet();
            }

            @Override
            public Optional<MetadataValue> get(String key) {
                return Optional.ofNullable(copy.get(key));
            }
        };
    }

    /** Returns the metadata of several files as one; if a key occurs in several of them, the first one counts. */
    static Metadata merged(List<Metadata> parts) {
        if (parts.size() == 1) {
            return parts.getFirst();
        }
        Map<String, Metadata> owners = new LinkedHashMap<>();
        for (Metadata part : parts) {
            part.keys().forEach(key -> owners.putIfAbsent(key, part));
        }
        Set<String> keys = Collections.unmodifiableSet(owners.keySet());
        return new Metadata() {
            @Override
            public Set<String> keys() {
                return keys;
            }

            @Override
            public Optional<MetadataValue> get(String key) {
                return Optional.ofNullable(owners.get(key)).flatMap(owner -> owner.get(key));
            }
        };
    }
}
