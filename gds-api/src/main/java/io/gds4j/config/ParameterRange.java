package io.gds4j.config;

/**
 * The range of a number, in the unit of its key ({@code cuFileGetParameterMinMaxValue}).
 *
 * @param min smallest value
 * @param max largest value, inclusive
 * @since 0.1
 */
public record ParameterRange(long min, long max) {
}
