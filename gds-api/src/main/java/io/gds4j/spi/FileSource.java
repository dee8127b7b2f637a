package io.gds4j.spi;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import java.nio.file.Path;

/**
 * What {@code cuFileHandleRegister} is given ({@code CUfileDescr_t}): a descriptor that the caller opened, or a file for
 * the backend to open.
 *
 * @since 0.1
 */
public sealed interface FileSource {
    /**
     * An open descriptor. The backend makes private duplicates; the caller may close or reuse his own at any time.
     *
     * @param fd number of the descriptor in this process
     */
    record Descriptor(int fd) implements FileSource {
        /** Refuses a negative number. */
        public Descriptor {
            if (fd < 0) {
                throw CuFileException.of(
                        CuFileError.INVALID_VALUE, "cuFileHandleRegister", "file descriptor is negative: " + fd);
            }
        }
    }

    /**
     * A path to open.
     *
     * @param path file to open
     * @param read open for reading
     * @param write open for writing
     * @param create make it if it is not there
     * @param createNew make it, fail if it is there
     * @param truncate set its length to 0
     * @param direct O_DIRECT, where the file system has it
     * @param sync O_SYNC
     * @param dsync O_DSYNC
     * @param drop a hint: reading leaves the page cache as it is
     */
    record Named(
            Path path,
            boolean read,
            boolean write,
            boolean create,
            boolean createNew,
            boolean truncate,
            boolean direct,
            boolean sync,
            boolean dsync,
            boolean drop) implements FileSource {
        /**
         * Without hints.
         *
         * @param path file to open
         * @param read open for reading
         * @param write open for writing
         * @param create make it if it is not there
         * @param createNew make it, fail if it is there
         * @param truncate set its length to 0
         * @param direct O_DIRECT, where the file system has it
         * @param sync O_SYNC
         * @param dsync O_DSYNC
         */
        public Named(
                Path path,
                boolean read,
                boolean write,
                boolean create,
                boolean createNew,
                boolean truncate,
                boolean direct,
                boolean sync,
                boolean dsync) {
            this(path, read, write, create, createNew, truncate, direct, sync, dsync, false);
        }
    }
}
