package io.gds4j.loader.format;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
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
