package io.gds4j.statistics;

/**
 * The path that a file's I/O takes, and the reason.
 *
 * @param path the path of an aligned request on this file now
 * @param reason a clause for users, such as {@code "tmpfs keeps its pages in memory"}
 * @since 0.1
 */
public record IoPathReport(IoPath path, String reason) {
}
