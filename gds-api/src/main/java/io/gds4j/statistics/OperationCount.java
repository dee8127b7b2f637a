package io.gds4j.statistics;

/**
 * Calls of one kind ({@code CUfileOpCounter_t}).
 *
 * @since 0.1
 */
public record OperationCount(long ok, long err) {
}
