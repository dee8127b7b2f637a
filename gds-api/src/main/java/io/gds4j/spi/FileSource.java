package io.gds4j.spi;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.source.RangeSource;
import java.nio.file.Path;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

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
                throw CuFileException.invalid("cuFileHandleRegister", "file descriptor is negative: " + fd);
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
            return CuFileException.of(CuFileError.IO_NOT_SUPPORTED, "cuFileHandleRegister", path,
                    backend + " serves files only, not sources");
        }
    }

    /**
     * A path to open.
     */
    final class Named implements FileSource {
        private final Parts parts;

        /**
         * Sets the parts.
         *
         * @param path as {@link #path}
         * @param read as {@link #read}
         * @param write as {@link #write}
         * @param create as {@link #create}
         * @param createNew as {@link #createNew}
         * @param truncate as {@link #truncate}
         * @param direct as {@link #direct}
         * @param sync as {@link #sync}
         * @param dsync as {@link #dsync}
         * @param drop as {@link #drop}
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
                boolean dsync,
                boolean drop) {
            parts = new Parts(path, read, write, create, createNew, truncate, direct, sync, dsync, drop);
        }

        /** {@return file to open} */
        public Path path() {
            return parts.path;
        }

        /** {@return whether to open it for reading} */
        public boolean read() {
            return parts.read;
        }

        /** {@return whether to open it for writing} */
        public boolean write() {
            return parts.write;
        }

        /** {@return whether to create the file if it does not exist} */
        public boolean create() {
            return parts.create;
        }

        /** {@return whether to create the file, and to fail if it exists} */
        public boolean createNew() {
            return parts.createNew;
        }

        /** {@return whether to set its size to 0} */
        public boolean truncate() {
            return parts.truncate;
        }

        /** {@return whether to open it with O_DIRECT, if the file system supports that} */
        public boolean direct() {
            return parts.direct;
        }

        /** {@return whether to open it with O_SYNC} */
        public boolean sync() {
            return parts.sync;
        }

        /** {@return whether to open it with O_DSYNC} */
        public boolean dsync() {
            return parts.dsync;
        }

        /** {@return whether reads should leave the page cache unchanged} */
        public boolean drop() {
            return parts.drop;
        }

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

        @Override
        public boolean equals(@Nullable Object other) {
            return other instanceof Named that && parts.equals(that.parts);
        }

        @Override
        public int hashCode() {
            return parts.hashCode();
        }

        @Override
        public String toString() {
            return parts.toString().replaceFirst("Parts", "Named");
        }

        private record Parts(Path path, boolean read, boolean write, boolean create, boolean createNew,
                boolean truncate, boolean direct, boolean sync, boolean dsync, boolean drop) {}
    }
}
