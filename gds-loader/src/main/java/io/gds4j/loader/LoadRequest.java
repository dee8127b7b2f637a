package io.gds4j.loader;

import java.nio.file.Path;

/**
 * One read that a plan will ask of the driver.
 *
 * @param file file to read
 * @param fileOffset its first byte
 * @param length bytes
 * @param gathered true if the bytes go to host memory first and are copied from there
 * @since 0.1
 */
public record LoadRequest(Path file, long fileOffset, long length, boolean gathered) {
}
