package io.gds4j.config;

/**
 * The range of a number, both ends included ({@code cuFileGetParameterMinMaxValue}).
 *
 * @param min the smallest value
 * @param max the largest value
 * @since 0.1
 */
public record ParameterRange(long min, long max) {
}
