package io.gds4j.config;

import java.nio.file.Path;

/**
 * A key of a JSON file that cuFile does not know: kept, reported once, without effect.
 *
 * @param name dotted path in the file
 * @param json its value as JSON text
 * @param file the file
 * @param line line in that file, counted from 1
 * @since 0.1
 */
public record UnknownKey(String name, String json, Path file, int line) {
}
