package io.gds4j.config;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Builds a {@link ConfigKey}. */
final class KeyDefinition<T> {
    final String name;
    final ValueType<T> type;
    final T defaultValue;
    final List<EnvironmentVariable<T>> variables = new ArrayList<>();
    private final List<ConfigKey<?>> catalogue;
    Constraint<T> constraint;
    String unit = "";
    @Nullable
    CuFileParameter<T> parameter;
    boolean compat;
    boolean engine;
    boolean inFile = true;
    String since = "1.15";

    KeyDefinition(List<ConfigKey<?>> catalogue, String name, ValueType<T> type, T defaultValue) {
        this.catalogue = catalogue;
        this.name = name;
        this.type = type;
        this.defaultValue = defaultValue;
        this.constraint = Constraint.any(type);
    }

    KeyDefinition<T> allow(Constraint<T> allowed) {
        this.constraint = allowed;
        return this;
    }

    KeyDefinition<T> unit(String text) {
        this.unit = text;
        return this;
    }

    KeyDefinition<T> parameter(CuFileParameter<T> cuFileParameter) {
        this.parameter = cuFileParameter;
        return this;
    }

    KeyDefinition<T> compat() {
        this.compat = true;
        return this;
    }

    /** Marks a key that gds4j's engine uses, too. */
    KeyDefinition<T> engine() {
        this.engine = true;
        return this;
    }

    KeyDefinition<T> since(String version) {
        this.since = version;
        return this;
    }

    KeyDefinition<T> onlyEnvironment() {
        this.inFile = false;
        return this;
    }

    KeyDefinition<T> variable(String variable, Function<String, Optional<T>> parse, String allowed) {
        variables.add(new EnvironmentVariable<>(variable, parse, allowed));
        return this;
    }

    /** Ends the definition and adds the key to the catalogue. */
    ConfigKey<T> about(String description) {
        ConfigKey<T> key = new ConfigKey<>(this, description);
        catalogue.add(key);
        return key;
    }
}
