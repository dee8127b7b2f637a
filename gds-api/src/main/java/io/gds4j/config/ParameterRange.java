package io.gds4j.config;

/**
 * The allowed range of a numeric parameter ({@code cuFileGetParameterMinMaxValue}), both ends included, unsigned.
 *
 * @since 0.1
 */
public record ParameterRange(long min, long max) {
}
