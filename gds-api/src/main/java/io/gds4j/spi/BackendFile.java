package io.gds4j.spi;

import io.gds4j.source.FileVersion;
import io.gds4j.statistics.IoPathReport;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * A registered file of one backend instance ({@code CUfileHandle_t}); no other instance takes it.
 *
 * @since 0.1
 */
public interface BackendFile {
    /** {@return the file's name when it was registered, if the kernel knows one} */
    Optional<Path> path();

    /** {@return whether it is open for reading} */
    boolean isReadable();

    /** {@return whether it is open for writing} */
    boolean isWritable();

    /** {@return current size of the file, or capacity of the block device, in bytes} */
    long size();

    /**
     * Returns the version of the content now, of the open file and not of its name.
     *
     * @return only the size by default
     */
    default FileVersion version() {
        return FileVersion.ofSize(size());
    }

    /** {@return the path that its I/O takes, and the reason} */
    IoPathReport ioPath();

    /**
     * Returns the backend's own descriptor of this file, so that another backend can register the file. The descriptor is open
     * in the same mode; the caller must not close it.
     *
     * @return its number; empty if the backend has none
     */
    default OptionalInt ownDescriptor() {
        return OptionalInt.empty();
    }

    /**
     * Makes the written bytes durable: {@code fsync}, or {@code fdatasync} without {@code metadata}.
     *
     * @param metadata whether to write times and other metadata, too
     */
    void force(boolean metadata);

    /**
     * Sets the size of the file: cuts it, or adds a hole.
     *
     * @param size bytes
     */
    void truncate(long size);

    /**
     * Reserves disk space for the first {@code size} bytes ({@code fallocate}), and extends a shorter file to that size.
     *
     * @param size bytes, 1 or more
     * @return false if neither the file system nor the backend can reserve; the file has the size all the same
     */
    default boolean reserve(long size) {
        if (size() < size) {
            truncate(size);
        }
        return false;
    }
}
