package io.gds4j.config;

import java.util.Optional;
import java.util.function.Function;

/**
 * An environment variable that sets a key.
 *
 * @param parse converts the text into a value of the key; empty if it cannot
 * @param allowed the allowed texts, for messages
 */
record EnvironmentVariable<T>(String name, Function<String, Optional<T>> parse, String allowed) {
}
