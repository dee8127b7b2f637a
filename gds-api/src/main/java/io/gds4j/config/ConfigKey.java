package io.gds4j.config;

import java.util.List;

/**
 * One key of cufile.json, such as {@code execution.max_io_threads}; the constants stand in {@link CuFileKeys}.
 *
 * @param <T> Long, Boolean, String or a List of Long or String
 * @param name dotted path in the file
 * @param type class of the value
 * @param defaultValue what holds when nobody sets it
 * @since 0.1
 */
public record ConfigKey<T>(String name, Class<T> type, T defaultValue) {
    static ConfigKey<Long> number(String name, long defaultValue) {
        return new ConfigKey<>(name, Long.class, defaultValue);
    }

    static ConfigKey<Boolean> flag(String name, boolean defaultValue) {
        return new ConfigKey<>(name, Boolean.class, defaultValue);
    }

    @SuppressWarnings("unchecked")
    static ConfigKey<List<Long>> numbers(String name, List<Long> defaultValue) {
        return new ConfigKey<>(name, (Class<List<Long>>) (Class<?>) List.class, defaultValue);
    }
}
