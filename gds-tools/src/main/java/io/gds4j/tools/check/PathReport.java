package io.gds4j.tools.check;

import io.gds4j.statistics.IoPathReport;
import io.gds4j.tools.terminal.ErrorReport;
import java.util.Optional;

/**
 * What is known about one path.
 *
 * @param path as the user wrote it
 * @param kind file, folder, block device, other
 * @param mount the mount that holds it
 * @param alignment what direct I/O asks for there
 * @param buffered what serves a file that is opened as {@code gds load} does it
 * @param direct what serves a file that is opened with O_DIRECT
 * @param obstacle why libcufile does not serve it directly
 * @param note what else there is to know
 * @param error what kept it from being examined
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
     * Alignments of direct I/O, as statx answers them.
     *
     * @param memoryBytes of memory
     * @param offsetBytes of offsets and sizes
     * @param readOffsetBytes of offsets and sizes of reads, 0 where the kernel does not say
     */
    public record DirectAlignment(int memoryBytes, int offsetBytes, int readOffsetBytes) {
    }

    static PathReport failed(String path, ErrorReport error) {
        return new PathReport(
                path, "", Optional.empty(), Optional.empty(), Optional.empty(), Optional.empty(), Optional.empty(),
                error.message(), Optional.of(error));
    }

    /** The backend that serves it; empty where that is not known. */
    Optional<String> backend() {
        return buffered.map(served -> switch (served.path()) {
            case NVFS, P2PDMA, LIBCUFILE_POSIX -> "libcufile";
            case COMPAT_DIRECT, COMPAT_BUFFERED, COMPAT_CACHED -> "compat";
        });
    }
}
