package io.gds4j.spi;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.source.RangeSource;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;

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
     *
     * @param path file to open
     * @param options READ, WRITE or both, CREATE, CREATE_NEW, TRUNCATE_EXISTING, SYNC and DSYNC of
     *        {@link java.nio.file.StandardOpenOption}, and each {@link io.gds4j.CuFileOpenOption}
     */
    record Named(Path path, Set<OpenOption> options) implements FileSource {
        /** Copies the options. */
        public Named {
            Objects.requireNonNull(path, "path");
            options = Set.copyOf(options);
        }

        /**
         * Names a file and how to open it.
         *
         * @param path file to open
         * @param options as {@link #options}, each once
         * @return the source
         */
        public static Named of(Path path, OpenOption... options) {
            return new Named(path, Set.of(options));
        }

        /**
         * Returns whether an option is set.
         *
         * @param option the option
         * @return true if it is
         */
        public boolean has(OpenOption option) {
            return options.contains(option);
        }
    }
}
