package io.gds4j.spi;

/**
 * The end of one entry of a batch ({@code CUfileIOEvents_t}).
 *
 * @param cookie the cookie of the entry's request
 * @param status how it ended
 * @param result bytes moved, or a negative errno or a negative cuFile code
 * @since 0.1
 */
public record BatchEvent(long cookie, BatchStatus status, long result) {
}
