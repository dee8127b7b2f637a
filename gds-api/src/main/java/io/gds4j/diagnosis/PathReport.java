package io.gds4j.diagnosis;

import io.gds4j.error.CuFileException;
import io.gds4j.statistics.IoPathReport;
import java.nio.file.Path;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What serves a path, and why.
 *
 * @since 0.1
 */
public final class PathReport {
    private final Parts parts;

    /**
     * Sets the parts.
     *
     * @param path as {@link #path}
     * @param kind as {@link #kind}
     * @param mount as {@link #mount}
     * @param alignment as {@link #alignment}
     * @param buffered as {@link #buffered}
     * @param direct as {@link #direct}
     * @param obstacle as {@link #obstacle}
     * @param note as {@link #note}
     * @param failure as {@link #failure}
     */
    public PathReport(
            Path path,
            String kind,
            Optional<Mount> mount,
            Optional<DirectAlignment> alignment,
            Optional<IoPathReport> buffered,
            Optional<IoPathReport> direct,
            Optional<String> obstacle,
            String note,
            Optional<CuFileException> failure) {
        parts = new Parts(path, kind, mount, alignment, buffered, direct, obstacle, note, failure);
    }

    /** {@return the path as the program gave it} */
    public Path path() {
        return parts.path;
    }

    /** {@return {@code file}, {@code folder} or {@code block device}; empty if it could not be examined} */
    public String kind() {
        return parts.kind;
    }

    /** {@return the mount that contains it; empty if unknown} */
    public Optional<Mount> mount() {
        return parts.mount;
    }

    /** {@return alignment that direct I/O requires; empty if the file system has none or does not report it} */
    public Optional<DirectAlignment> alignment() {
        return parts.alignment;
    }

    /** {@return what serves GPU memory if a program opens the file without options; empty if it could not be opened} */
    public Optional<IoPathReport> buffered() {
        return parts.buffered;
    }

    /** {@return what serves it with {@link io.gds4j.CuFileOpenOption#DIRECT}; empty if it could not be opened} */
    public Optional<IoPathReport> direct() {
        return parts.direct;
    }

    /** {@return why GPUDirect Storage does not serve it; empty if no obstacle is known} */
    public Optional<String> obstacle() {
        return parts.obstacle;
    }

    /** {@return an additional note, or an empty string} */
    public String note() {
        return parts.note;
    }

    /** {@return why it could not be examined} */
    public Optional<CuFileException> failure() {
        return parts.failure;
    }

    /**
     * Alignments of direct I/O, as statx reports them.
     *
     * @since 0.1
     */
    public static final class DirectAlignment {
        private final Values parts;

        /**
         * Sets the parts.
         *
         * @param memoryBytes as {@link #memoryBytes}
         * @param offsetBytes as {@link #offsetBytes}
         * @param readOffsetBytes as {@link #readOffsetBytes}
         */
        public DirectAlignment(int memoryBytes, int offsetBytes, int readOffsetBytes) {
            parts = new Values(memoryBytes, offsetBytes, readOffsetBytes);
        }

        /** {@return alignment of memory, bytes} */
        public int memoryBytes() {
            return parts.memoryBytes;
        }

        /** {@return alignment of offsets and sizes, bytes} */
        public int offsetBytes() {
            return parts.offsetBytes;
        }

        /** {@return alignment of offsets and sizes of reads, bytes; 0 if the kernel does not report it} */
        public int readOffsetBytes() {
            return parts.readOffsetBytes;
        }

        @Override
        public boolean equals(@Nullable Object other) {
            return other instanceof DirectAlignment that && parts.equals(that.parts);
        }

        @Override
        public int hashCode() {
            return parts.hashCode();
        }

        @Override
        public String toString() {
            return parts.toString().replaceFirst("Values", "DirectAlignment");
        }

        private record Values(int memoryBytes, int offsetBytes, int readOffsetBytes) {}
    }

    /**
     * Reports a path that could not be examined.
     *
     * @param path the path
     * @param failure the reason
     * @return the report
     */
    public static PathReport failed(Path path, CuFileException failure) {
        return new PathReport(
                path, "", Optional.empty(), Optional.empty(), Optional.empty(), Optional.empty(), Optional.empty(),
                failure.getMessage(), Optional.of(failure));
    }

    /**
     * Returns this report with the obstacle.
     *
     * @param why why GPUDirect Storage does not serve the path
     * @return a copy
     */
    public PathReport withObstacle(Optional<String> why) {
        return new PathReport(parts.path, parts.kind, parts.mount, parts.alignment, parts.buffered, parts.direct, why,
                parts.note, parts.failure);
    }

    /** {@return true if GPUDirect Storage serves the path for GPU memory, with or without {@link io.gds4j.CuFileOpenOption#DIRECT}} */
    public boolean directStorage() {
        return Stream.concat(parts.buffered.stream(), parts.direct.stream())
                .anyMatch(served -> served.path().isDirect());
    }

    /** {@return name of the backend that serves the path; empty if unknown} */
    public Optional<String> backend() {
        return parts.buffered.map(served -> switch (served.path()) {
            case NVFS, P2PDMA, LIBCUFILE_POSIX -> "libcufile";
            case COMPAT_DIRECT, COMPAT_BUFFERED, COMPAT_CACHED, USER_SOURCE -> "compat";
        });
    }

    private record Parts(Path path, String kind, Optional<Mount> mount, Optional<DirectAlignment> alignment,
            Optional<IoPathReport> buffered, Optional<IoPathReport> direct, Optional<String> obstacle, String note,
            Optional<CuFileException> failure) {}
}
