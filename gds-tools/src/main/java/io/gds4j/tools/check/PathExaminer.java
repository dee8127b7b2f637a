package io.gds4j.tools.check;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.ffi.posix.StatxResult;
import io.gds4j.libcufile.DirectStorageProbe;
import io.gds4j.statistics.IoPathReport;
import io.gds4j.tools.check.PathReport.DirectAlignment;
import io.gds4j.tools.terminal.CommandFailure;
import io.gds4j.tools.terminal.ErrorReport;
import java.io.IOException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.util.ArrayList;
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
    private final CuFileDriver driver;
    private final List<Mount> mounts;
    private final List<String> machineObstacles;

    /** @param machineObstacles reasons why libcufile cannot serve any file directly */
    PathExaminer(Posix posix, CuFileDriver driver, List<Mount> mounts, List<String> machineObstacles) {
        this.posix = posix;
        this.driver = driver;
        this.mounts = mounts;
        this.machineObstacles = List.copyOf(machineObstacles);
    }

    PathReport examine(Path path) {
        try {
            Path real = path.toRealPath();
            StatxResult stat = posix.statx(real.toString());
            if (stat.error() != 0) {
                throw unusable(path, -stat.error());
            }
            Optional<Mount> mount = Mount.holding(mounts, real);
            if (stat.isDirectory()) {
                return folder(path, real, mount);
            }
            if (!stat.isRegularFile() && !stat.isBlockDevice()) {
                throw CommandFailure.badInput(
                        path.toString(), path + ": not a file, folder or block device");
            }
            String kind = stat.isBlockDevice() ? "block device" : "file";
            return report(path, kind, mount, stat, served(path), served(path, CuFileOpenOption.DIRECT));
        } catch (IOException | CommandFailure | CuFileException e) {
            return PathReport.failed(path.toString(), ErrorReport.of(e));
        }
    }

    private IoPathReport served(Path path, OpenOption... options) {
        try (CuFileHandle handle = driver.openFile(path, options)) {
            return handle.ioPath();
        }
    }

    private PathReport folder(Path path, Path real, Optional<Mount> mount) {
        int fd = posix.open(real.toString(), O_TMPFILE | PosixConstants.O_RDWR, PRIVATE);
        if (fd < 0) {
            return new PathReport(
                    path.toString(),
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
            Path nameless = Path.of("/proc/self/fd/" + fd);
            return report(
                    path, "folder", mount, posix.statx(fd), served(nameless),
                    served(nameless, CuFileOpenOption.DIRECT));
        } finally {
            posix.close(fd);
        }
    }

    private PathReport report(
            Path path,
            String kind,
            Optional<Mount> mount,
            StatxResult stat,
            IoPathReport buffered,
            IoPathReport direct) {
        Optional<DirectAlignment> alignment = stat.directOffsetAlignment() == 0
                ? Optional.empty()
                : Optional.of(
                        new DirectAlignment(
                                stat.directMemoryAlignment(),
                                stat.directOffsetAlignment(),
                                stat.directReadOffsetAlignment()));
        return new PathReport(
                path.toString(), kind, mount, alignment, Optional.of(buffered), Optional.of(direct), obstacle(stat), "",
                Optional.empty());
    }

    private Optional<String> obstacle(StatxResult stat) {
        List<String> all = new ArrayList<>(machineObstacles);
        DirectStorageProbe.obstacle(stat).ifPresent(all::add);
        return all.isEmpty() ? Optional.empty() : Optional.of(String.join("; ", all));
    }

    private static CommandFailure unusable(Path path, int errno) {
        return CommandFailure.badInput(path.toString(), path + ": " + Errno.text(errno));
    }
}
