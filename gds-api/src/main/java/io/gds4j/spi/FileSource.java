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
     */
    final class Named implements FileSource {
        private final Path path;
        private final boolean read;
        private final boolean write;
        private final boolean create;
        private final boolean createNew;
        private final boolean truncate;
        private final boolean direct;
        private final boolean sync;
        private final boolean dsync;
        private final boolean drop;

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
            this.path = path;
            this.read = read;
            this.write = write;
            this.create = create;
            this.createNew = createNew;
            this.truncate = truncate;
            this.direct = direct;
            this.sync = sync;
            this.dsync = dsync;
            this.drop = drop;
        }

        /** {@return file to open} */
        public Path path() {
            return path;
        }

        /** {@return whether to open it for reading} */
        public boolean read() {
            return read;
        }

        /** {@return whether to open it for writing} */
        public boolean write() {
            return write;
        }

        /** {@return whether to create the file if it does not exist} */
        public boolean create() {
            return create;
        }

        /** {@return whether to create the file, and to fail if it exists} */
        public boolean createNew() {
            return createNew;
        }

        /** {@return whether to set its size to 0} */
        public boolean truncate() {
            return truncate;
        }

        /** {@return whether to open it with O_DIRECT, if the file system supports that} */
        public boolean direct() {
            return direct;
        }

        /** {@return whether to open it with O_SYNC} */
        public boolean sync() {
            return sync;
        }

        /** {@return whether to open it with O_DSYNC} */
        public boolean dsync() {
            return dsync;
        }

        /** {@return whether reads should leave the page cache unchanged} */
        public boolean drop() {
            return drop;
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
            return other instanceof Named that && read == that.read && write == that.write && create == that.create
                    && createNew == that.createNew && truncate == that.truncate && direct == that.direct
                    && sync == that.sync && dsync == that.dsync && drop == that.drop && path.equals(that.path);
        }

        @Override
        public int hashCode() {
            return Objects.hash(path, read, write, create, createNew, truncate, direct, sync, dsync, drop);
        }

        @Override
        public String toString() {
            return "Named[path=" + path + ", read=" + read + ", write=" + write + ", create=" + create + ", createNew="
                    + createNew + ", truncate=" + truncate + ", direct=" + direct + ", sync=" + sync + ", dsync="
                    + dsync + ", drop=" + drop + ']';
        }
    }
}
