package io.gds4j.tools.terminal;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** Collects the fields of a JSON object, in their order. An empty optional value is null. */
public final class Fields {
    private final Map<String, @Nullable Object> map = new LinkedHashMap<>();

    private Fields() {
    }

    /** Begins with a field. */
    public static Fields of(String name, @Nullable Object value) {
        return new Fields().and(name, value);
    }

    /** Adds a field. */
    public Fields and(String name, @Nullable Object value) {
        map.put(name, plain(value));
        return this;
    }

    /** Adds the fields of another object. */
    public Fields andAll(Map<String, ? extends @Nullable Object> fields) {
        map.putAll(fields);
        return this;
    }

    /** Returns the fields, to which others may be added. */
    public Map<String, @Nullable Object> map() {
        return map;
    }

    private static @Nullable Object plain(@Nullable Object value) {
        return switch (value) {
            case Optional<?> known -> plain(known.orElse(null));
            case OptionalInt known when known.isPresent() -> known.getAsInt();
            case OptionalLong known when known.isPresent() -> known.getAsLong();
            case OptionalDouble known when known.isPresent() -> known.getAsDouble();
            case OptionalInt none -> null;
            case OptionalLong none -> null;
            case OptionalDouble none -> null;
            case null, default -> value;
        };
    }
}
