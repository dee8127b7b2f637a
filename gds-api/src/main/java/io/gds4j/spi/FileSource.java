package io.gds4j.spi;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import java.nio.file.Path;

/**
 * A file to register ({@code CUfileDescr_t}): a descriptor that the caller has opened, or a path that the backend opens.
 *
 * @since 0.1
 */
public sealed interface FileSource {
    /**
     * An open descriptor. The backend makes private duplicates; the caller may close its own at any time.
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
     * @param create create the file if it does not exist
     * @param createNew create the file, or fail if it exists
     * @param truncate set its size to 0
     * @param direct O_DIRECT, if the file system supports it
     * @param sync O_SYNC
     * @param dsync O_DSYNC
     * @param drop hint that reads should leave the page cache unchanged
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
         * A path to open without hints.
         *
         * @param path file to open
         * @param read open for reading
         * @param write open for writing
         * @param create create the file if it does not exist
         * @param createNew create the file, or fail if it exists
         * @param truncate set its size to 0
         * @param direct O_DIRECT, if the file system supports it
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
