package io.gds4j.diagnosis;

import io.gds4j.error.CuFileException;
import io.gds4j.statistics.IoPathReport;
import java.nio.file.Path;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * What serves a path, and why.
 *
 * @since 0.1
 */
public sealed interface PathReport permits PathReportParts {
    /** {@return the path as the program gave it} */
    Path path();

    /** {@return {@code file}, {@code folder} or {@code block device}; empty if it could not be examined} */
    String kind();

    /** {@return the mount that contains it; empty if unknown} */
    Optional<Mount> mount();

    /** {@return alignment that direct I/O requires; empty if the file system has none or does not report it} */
    Optional<DirectAlignment> alignment();

    /** {@return what serves GPU memory if a program opens the file without options; empty if it could not be opened} */
    Optional<IoPathReport> buffered();

    /** {@return what serves it with {@link io.gds4j.CuFileOpenOption#DIRECT}; empty if it could not be opened} */
    Optional<IoPathReport> direct();

    /** {@return why GPUDirect Storage does not serve it; empty if no obstacle is known} */
    Optional<String> obstacle();

    /** {@return an additional note, or an empty string} */
    String note();

    /** {@return why it could not be examined} */
    Optional<CuFileException> failure();

    /**
     * Makes a value.
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
     * @return the value
     */
    static PathReport of(Path path, String kind, Optional<Mount> mount, Optional<DirectAlignment> alignment,
            Optional<IoPathReport> buffered, Optional<IoPathReport> direct, Optional<String> obstacle, String note,
            Optional<CuFileException> failure) {
        return new PathReportParts(path, kind, mount, alignment, buffered, direct, obstacle, note, failure);
    }

    /**
     * Alignments of direct I/O, as statx reports them.
     *
     * @param memoryBytes alignment of memory, bytes
     * @param offsetBytes alignment of offsets and sizes, bytes
     * @param readOffsetBytes alignment of offsets and sizes of reads, bytes; 0 if the kernel does not report it
     * @since 0.1
     */
    record DirectAlignment(int memoryBytes, int offsetBytes, int readOffsetBytes) {}

    /**
     * Reports a path that could not be examined.
     *
     * @param path the path
     * @param failure the reason
     * @return the report
     */
    static PathReport failed(Path path, CuFileException failure) {
        return of(
                path, "", Optional.empty(), Optional.empty(), Optional.empty(), Optional.empty(), Optional.empty(),
                failure.getMessage(), Optional.of(failure));
    }

    /**
     * Returns this report with the obstacle.
     *
     * @param why why GPUDirect Storage does not serve the path
     * @return a copy
     */
    default PathReport withObstacle(Optional<String> why) {
        return of(path(), kind(), mount(), alignment(), buffered(), direct(), why,
                note(), failure());
    }

    /** {@return true if GPUDirect Storage serves the path for GPU memory, with or without {@link io.gds4j.CuFileOpenOption#DIRECT}} */
    default boolean directStorage() {
        return Stream.concat(buffered().stream(), direct().stream())
                .anyMatch(served -> served.path().isDirect());
    }

    /** {@return name of the backend that serves the path; empty if unknown} */
    default Optional<String> backend() {
        return buffered().map(served -> switch (served.path()) {
            case NVFS, P2PDMA, LIBCUFILE_POSIX -> "libcufile";
            case COMPAT_DIRECT, COMPAT_BUFFERED, COMPAT_CACHED, USER_SOURCE -> "compat";
        });
    }
}
