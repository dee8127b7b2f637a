package io.gds4j.config;

import java.nio.file.Path;

/**
 * A key of a JSON file that cuFile does not know. It is logged once and has no effect.
 *
 * @param name dotted path in the file
 * @param json its value as JSON text
 * @param file the file
 * @param line line in the file, counted from 1
 * @since 0.1
 */
public record UnknownKey(String name, String json, Path file, int line) {}
