package io.gds4j.tools.explain;

import io.gds4j.diagnosis.Mount;
import io.gds4j.diagnosis.PathReport;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.internal.file.Pages;
import io.gds4j.loader.LoadRequest;
import io.gds4j.statistics.IoPathReport;
import java.nio.file.FileSystems;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;

/**
 * A file that a load reads.
 *
 * @param path the file
 * @param bytes bytes that the load reads of it
 * @param cachedBytes how many of them are in the page cache; empty if the kernel does not tell
 * @param report what serves it; empty for a remote file
 */
record ReadFile(Path path, long bytes, OptionalLong cachedBytes, Optional<PathReport> report) {

    private static final Set<String> IN_MEMORY = Set.of("tmpfs", "ramfs", "hugetlbfs");

    static ReadFile of(Path path, List<LoadRequest> requests, Optional<PathReport> report) {
        long bytes = requests.stream().mapToLong(LoadRequest::length).sum();
        return new ReadFile(path, bytes, isLocal(path) ? cached(path, requests) : OptionalLong.empty(), report);
    }

    static boolean isLocal(Path path) {
        return path.getFileSystem() == FileSystems.getDefault();
    }

    private static OptionalLong cached(Path path, List<LoadRequest> requests) {
        Posix posix = FfmPosix.instance();
        int fd = posix.open(path.toString(), PosixConstants.O_RDONLY | PosixConstants.O_NONBLOCK, 0);
        if (fd < 0) {
            return OptionalLong.empty();
        }
        try {
            long cached = 0;
            for (LoadRequest request : requests) {
                long pages = posix.cachedPages(fd, request.fileOffset(), request.length());
                if (pages < 0) {
                    return OptionalLong.empty();
                }
                cached += Math.min(request.length(), pages * Pages.SIZE);
            }
            return OptionalLong.of(cached);
        } finally {
            posix.close(fd);
        }
    }

    /** True if the file system keeps its files in memory. */
    boolean inMemory() {
        return report.flatMap(PathReport::mount).filter(mount -> IN_MEMORY.contains(mount.fileSystem())).isPresent();
    }

    /** True if the load finds all that it reads in memory. */
    boolean isCached() {
        return inMemory() || cachedBytes.orElse(0) >= bytes;
    }

    /** The device that holds the file, as its mount names it. */
    String device() {
        return report.flatMap(PathReport::mount).map(Mount::source).orElse(isLocal(path) ? "unknown" : "remote");
    }

    /** Which path serves the file with the way that the load opens it. */
    String ioPath(boolean direct) {
        return served(direct).map(path -> path.path().name()).orElse("USER_SOURCE");
    }

    /** Why that path. */
    String reason(boolean direct) {
        return served(direct).map(IoPathReport::reason).orElse("read by ranges from its server");
    }

    private Optional<IoPathReport> served(boolean direct) {
        return report.flatMap(known -> direct ? known.direct().or(known::buffered) : known.buffered());
    }
}
