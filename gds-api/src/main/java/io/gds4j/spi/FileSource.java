package io.gds4j.spi;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.source.RangeSource;
import java.nio.file.Path;
import java.util.Objects;
import java.util.Optional;

/**
 * A file to register ({@code CUfileDescr_t}): a descriptor that the caller has opened, a path that the backend opens, or ranges
 * that a source reads.
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
     * A source of ranges. Backends without sources refuse it with IO_NOT_SUPPORTED.
     *
     * @param source reads the bytes
     * @param path the file's name, if it has one
     */
    record Ranges(RangeSource source, Optional<Path> path) implements FileSource {
        /** Refuses null. */
        public Ranges {
            Objects.requireNonNull(source, "source");
            Objects.requireNonNull(path, "path");
        }

        /**
         * Returns the refusal of a backend that has no sources.
         *
         * @param backend name of the backend
         * @return IO_NOT_SUPPORTED
         */
        public CuFileException refusal(String backend) {
            return CuFileException.builder("cuFileHandleRegister")
                    .error(CuFileError.IO_NOT_SUPPORTED)
                    .path(path)
                    .detail(backend + " serves files only, not sources")
                    .build();
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
