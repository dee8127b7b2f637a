package io.gds4j.testkit;

import java.nio.file.Path;
import java.util.OptionalInt;

/**
 * Opens descriptors of this process by number, as a program in C would hold them.
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

        /** Reading is allowed. */
        public boolean reads() {
            return reads;
        }

        /** Writing is allowed. */
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

    /** Opens what is at {@code path}: a file, a directory, a device. */
    int open(Path path, Access access, Flag... flags);

    /** One end of a pipe. */
    int pipe();

    /** A socket. */
    int socket();

    /** {@code dup(2)}: another number for the same open file; empty where there is no way. */
    OptionalInt duplicate(int fd);

    /** {@code memfd_create(2)}, open for reading and writing; empty where there is no way. */
    OptionalInt memfd();

    /** Closes a descriptor that this object opened. */
    void close(int fd);
}
