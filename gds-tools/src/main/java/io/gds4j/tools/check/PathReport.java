package io.gds4j.tools.check;

import io.gds4j.statistics.IoPathReport;
import io.gds4j.tools.terminal.ErrorReport;
import java.util.Optional;

/**
 * The findings about one path.
 *
 * @param path path as the user gave it
 * @param kind file, folder, block device, other
 * @param mount the mount that contains it
 * @param alignment alignment that direct I/O requires
 * @param buffered what serves a file opened as {@code gds load} opens it
 * @param direct what serves a file opened with O_DIRECT
 * @param obstacle why libcufile does not serve it directly
 * @param note an additional note, or empty
 * @param error why it could not be examined
 */
public record PathReport(
        String path,
        String kind,
        Optional<Mount> mount,
        Optional<DirectAlignment> alignment,
        Optional<IoPathReport> buffered,
        Optional<IoPathReport> direct,
        Optional<String> obstacle,
        String note,
        Optional<ErrorReport> error) {
    /**
     * Alignments of direct I/O, as statx reports them.
     *
     * @param memoryBytes alignment of memory, bytes
     * @param offsetBytes alignment of offsets and sizes, bytes
     * @param readOffsetBytes alignment of offsets and sizes of reads, bytes; 0 if the kernel does not report it
     */
    public record DirectAlignment(int memoryBytes, int offsetBytes, int readOffsetBytes) {
    }

    static PathReport failed(String path, ErrorReport error) {
        return new PathReport(
                path, "", Optional.empty(), Optional.empty(), Optional.empty(), Optional.empty(), Optional.empty(),
                error.message(), Optional.of(error));
    }

    /** Returns the backend that serves the path; empty if unknown. */
    Optional<String> backend() {
        return buffered.map(served -> switch (served.path()) {
            case NVFS, P2PDMA, LIBCUFILE_POSIX -> "libcufile";
            case COMPAT_DIRECT, COMPAT_BUFFERED, COMPAT_CACHED -> "compat";
        });
    }
}
