package io.gds4j.spi;

import io.gds4j.statistics.IoPathReport;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * A registered file as its backend knows it ({@code CUfileHandle_t}). Made by one backend instance and meaningful to it
 * alone.
 *
 * @since 0.1
 */
public interface BackendFile {
    /** {@return the file's name when it was registered, where the kernel knows one} */
    Optional<Path> path();

    /** {@return whether it is open for reading} */
    boolean isReadable();

    /** {@return whether it is open for writing} */
    boolean isWritable();

    /** {@return bytes in the file now, of a block device its capacity} */
    long size();

    /** {@return which way its I/O goes and why} */
    IoPathReport ioPath();

    /**
     * A descriptor of the backend's own on this file, open in the same mode, so that another backend can register the same
     * file; not to be closed.
     *
     * @return its number; empty if there is none to give
     */
    default OptionalInt ownDescriptor() {
        return OptionalInt.empty();
    }

    /**
     * Makes what was written durable: {@code fsync}, or {@code fdatasync} without {@code metadata}.
     *
     * @param metadata also times and other metadata
     */
    void force(boolean metadata);

    /**
     * Sets the file's length, cutting it or adding a hole.
     *
     * @param size bytes
     */
    void truncate(long size);
}
