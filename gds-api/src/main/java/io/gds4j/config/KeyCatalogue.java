package io.gds4j.config;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Begins the definition of each key by its type and keeps the keys in order. */
final class KeyCatalogue {
    private final List<ConfigKey<?>> keys = new ArrayList<>();

    List<ConfigKey<?>> all() {
        return List.copyOf(keys);
    }

    private <T> KeyDefinition<T> definition(String name, ValueType<T> type, T defaultValue) {
        return new KeyDefinition<>(keys, name, type, defaultValue);
    }

    KeyDefinition<Long> number(String name, long defaultValue) {
        return definition(name, ValueType.NUMBER, defaultValue);
    }

    KeyDefinition<Long> number(String name, long defaultValue, long min, long max, long step) {
        return number(name, defaultValue).allow(Constraint.number(min, max, step));
    }

    KeyDefinition<Boolean> flag(String name, boolean defaultValue) {
        return definition(name, ValueType.SWITCH, defaultValue);
    }

    KeyDefinition<String> text(String name, String defaultValue) {
        return definition(name, ValueType.TEXT, defaultValue);
    }

    KeyDefinition<List<Long>> longs(String name, Long... defaultValue) {
        return definition(name, ValueType.NUMBERS, List.of(defaultValue));
    }

    KeyDefinition<List<String>> texts(String name, String... defaultValue) {
        return definition(name, ValueType.TEXTS, List.of(defaultValue));
    }

    KeyDefinition<MountTable> mounts(String name) {
        return definition(name, ValueType.MOUNTS, MountTable.EMPTY).allow(Constraint.mounts());
    }

    /** Converts the text of {@code CUFILE_DMABUF_ENABLE} into a value of {@code properties.rdma_peer_type}. */
    static Optional<String> peerType(String text) {
        return ValueType.parseSwitch(text).map(dmabuf -> dmabuf ? "dmabuf" : "peermem");
    }
}
