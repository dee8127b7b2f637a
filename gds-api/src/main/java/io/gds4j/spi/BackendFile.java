package io.gds4j.spi;

import io.gds4j.statistics.IoPathReport;
import java.nio.file.Path;
import java.util.Optional;

/**
 * A registered file as its backend knows it ({@code CUfileHandle_t}). Made by one backend instance and meaningful to it
 * alone.
 *
 * @since 0.1
 */
public interface BackendFile {
    /** The file's name when it was registered, where the kernel knows one. */
    Optional<Path> path();

    /** Open for reading. */
    boolean isReadable();

    /** Open for writing. */
    boolean isWritable();

    /** Bytes in the file now (of a block device: its capacity). */
    long size();

    /** Which way its I/O goes and why. */
    IoPathReport ioPath();

    /**
     * Makes what was written durable: {@code fsync}, or {@code fdatasync} without {@code metadata}.
     */
    void force(boolean metadata);

    /** Sets the file's length, cutting it or adding a hole. */
    void truncate(long size);
}
