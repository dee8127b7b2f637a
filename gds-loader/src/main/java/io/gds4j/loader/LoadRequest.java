package io.gds4j.loader;

import java.nio.file.Path;

/**
 * A read that a plan requests from the driver.
 *
 * @param file file to read
 * @param fileOffset offset of the first byte
 * @param length length in bytes
 * @param gathered true if the bytes are read into host memory and copied from there
 * @since 0.1
 */
public record LoadRequest(Path file, long fileOffset, long length, boolean gathered) {}
