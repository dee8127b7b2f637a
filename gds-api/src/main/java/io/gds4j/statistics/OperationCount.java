package io.gds4j.statistics;

/**
 * Calls of one kind ({@code CUfileOpCounter_t}).
 *
 * @param ok calls that succeeded
 * @param err calls that failed
 * @since 0.1
 */
public record OperationCount(long ok, long err) {
}
