package io.gds4j.config;

import java.util.Optional;
import java.util.function.Function;

/**
 * A variable that sets a key.
 *
 * @param parse turns its text into the key's value; empty if it is not such a text
 * @param allowed what the text may be, for messages
 */
record EnvironmentVariable<T>(String name, Function<String, Optional<T>> parse, String allowed) {
}
