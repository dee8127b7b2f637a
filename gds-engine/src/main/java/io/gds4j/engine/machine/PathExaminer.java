package io.gds4j.engine.machine;

import io.gds4j.diagnosis.Mount;
import io.gds4j.diagnosis.PathReport;
import io.gds4j.diagnosis.PathReport.DirectAlignment;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.ffi.posix.StatxResult;
import io.gds4j.spi.Machine;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** Finds out what serves a path, without leaving changes behind. */
final class PathExaminer {
    private static final boolean AARCH64 = System.getProperty("os.arch").equals("aarch64");
    private static final int O_DIRECTORY = AARCH64 ? 0x4000 : 0x10000;
    /** Creates an unnamed file in a folder, which exists as long as its descriptor. */
    private static final int O_TMPFILE = 0x400000 | O_DIRECTORY;
    private static final int PRIVATE = 0600;

    private final Posix posix;
    private final List<Mount> mounts;
    private final Machine.Probe probe;

    PathExaminer(Posix posix, List<Mount> mounts, Machine.Probe probe) {
        this.posix = posix;
        this.mounts = mounts;
        this.probe = probe;
    }

    PathReport examine(Path path) {
        try {
            StatxResult stat = posix.statx(path.toString());
            if (stat.error() != 0) {
                throw unusable(path, -stat.error());
            }
            Optional<Mount> mount = Mounts.holding(mounts, path.toRealPath());
            if (stat.isDirectory()) {
                return folder(path, mount);
            }
            if (!stat.isRegularFile() && !stat.isBlockDevice()) {
                throw CuFileException.of(
                        CuFileError.INVALID_FILE_TYPE, "diagnose", path, "not a file, folder or block device");
            }
            return report(path, stat.isBlockDevice() ? "block device" : "file", mount, stat, path);
        } catch (CuFileException e) {
            return PathReport.failed(path, e);
        } catch (IOException e) {
            return PathReport.failed(path, unusable(path, Errno.ENOENT));
        }
    }

    private PathReport folder(Path path, Optional<Mount> mount) {
        int fd = posix.open(path.toString(), O_TMPFILE | PosixConstants.O_RDWR, PRIVATE);
        if (fd < 0) {
            return PathReport.of(
                    path,
                    "folder",
                    mount,
                    Optional.empty(),
                    Optional.empty(),
                    Optional.empty(),
                    Optional.empty(),
                    "cannot create a test file here (%s): name a file in it".formatted(Errno.text(-fd)),
                    Optional.empty());
        }
        try {
            // The kernel reopens an unnamed file through the entry of its descriptor.
            return report(path, "folder", mount, posix.statx(fd), Path.of("/proc/self/fd/" + fd));
        } finally {
            posix.close(fd);
        }
    }

    private PathReport report(Path path, String kind, Optional<Mount> mount, StatxResult stat, Path file) {
        Optional<DirectAlignment> alignment = stat.directOffsetAlignment() == 0
                ? Optional.empty()
                : Optional.of(
                        new DirectAlignment(
                                stat.directMemoryAlignment(),
                                stat.directOffsetAlignment(),
                                stat.directReadOffsetAlignment()));
        return PathReport.of(
                path, kind, mount, alignment, Optional.of(probe.ioPath(file, false)),
                Optional.of(probe.ioPath(file, true)), Optional.empty(), "", Optional.empty());
    }

    private static CuFileException unusable(Path path, int errno) {
        return CuFileException.builder("diagnose")
                .error(CuFileError.INVALID_VALUE)
                .errno(errno)
                .path(path)
                .build();
    }
}
