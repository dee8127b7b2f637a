package io.gds4j.compat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** POSIX record locks of this process, as the kernel lists them. */
public final class PosixLocks {
    private PosixLocks() {
    }

    /** True if this process holds a lock on the file. */
    public static boolean isLocked(Path file) throws IOException {
        long inode = (Long) Files.getAttribute(file, "unix:ino");
        String holder = " " + ProcessHandle.current().pid() + " ";
        return Files.readAllLines(Path.of("/proc/locks")).stream()
                .anyMatch(line -> line.contains("POSIX") && line.contains(holder) && line.contains(":" + inode + " "));
    }
}
