package io.gds4j.testkit;

import java.nio.file.Path;
import java.util.OptionalInt;

/**
 * Opens descriptors of this process by number, as a C program does.
 *
 * @since 0.1
 */
public interface RawDescriptors {
    /** Access mode of {@code open(2)}. */
    enum Access {
        /** O_RDONLY. */
        READ(true, false),
        /** O_WRONLY. */
        WRITE(false, true),
        /** O_RDWR. */
        READ_WRITE(true, true);

        private final boolean reads;
        private final boolean writes;

        Access(boolean reads, boolean writes) {
            this.reads = reads;
            this.writes = writes;
        }

        /** True if reads are allowed. */
        public boolean reads() {
            return reads;
        }

        /** True if writes are allowed. */
        public boolean writes() {
            return writes;
        }
    }

    /** Flags of {@code open(2)}. */
    enum Flag {
        /** O_DIRECT. */
        DIRECT,
        /** O_APPEND. */
        APPEND,
        /** O_SYNC. */
        SYNC,
        /** O_DSYNC. */
        DSYNC
    }

    /** Opens the file, directory or device at {@code path}. */
    int open(Path path, Access access, Flag... flags);

    /** Opens a pipe and returns one of its ends. */
    int pipe();

    /** Opens a socket. */
    int socket();

    /** Duplicates a descriptor ({@code dup(2)}); empty if not supported. */
    OptionalInt duplicate(int fd);

    /** Creates a file in memory ({@code memfd_create(2)}), open for reads and writes; empty if not supported. */
    OptionalInt memfd();

    /** Closes a descriptor that this object opened. */
    void close(int fd);
}
