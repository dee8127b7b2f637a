package io.gds4j.statistics;

/**
 * Which way a file's I/O goes and why.
 *
 * @param path what serves an aligned request on this file now
 * @param reason a clause a person understands, such as {@code "tmpfs keeps its pages in memory"}
 * @since 0.1
 */
public record IoPathReport(IoPath path, String reason) {
}
