package io.gds4j.engine.memory;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** The host memory that could be allocated now: the kernel's estimate, or the container's limit where that is lower. */
public final class AvailableHostMemory {
    private final Path proc;
    private final Path cgroups;

    /** For tests: other mount points than {@code /proc} and {@code /sys/fs/cgroup}. */
    AvailableHostMemory(Path proc, Path cgroups) {
        this.proc = proc;
        this.cgroups = cgroups;
    }

    /** Reads the limits of this process. */
    public AvailableHostMemory() {
        this(Path.of("/proc"), Path.of("/sys/fs/cgroup"));
    }

    /** Returns bytes; 0 if the kernel gives no estimate. */
    public long bytes() {
        return Math.min(kernelEstimate(), cgroupRoom());
    }

    private long kernelEstimate() {
        for (String line : lines(proc.resolve("meminfo"))) {
            if (line.startsWith("MemAvailable:")) {
                return Long.parseLong(line.replaceAll("[^0-9]", "")) * 1024;
            }
        }
        return 0;
    }

    private long cgroupRoom() {
        long room = Long.MAX_VALUE;
        for (String line : lines(proc.resolve("self/cgroup"))) {
            if (!line.startsWith("0::/")) {
                continue; // only the unified hierarchy
            }
            Path group = cgroups.resolve(line.substring("0::/".length())).normalize();
            while (group != null && group.startsWith(cgroups)) {
                room = Math.min(room, roomOf(group));
                group = group.getParent();
            }
        }
        return room;
    }

    /** Returns the bytes that the group may still take. Its own clean page cache counts as free. */
    private static long roomOf(Path group) {
        long limit = number(group.resolve("memory.max"));
        long used = number(group.resolve("memory.current"));
        if (limit == Long.MAX_VALUE || used == Long.MAX_VALUE) {
            return Long.MAX_VALUE;
        }
        long reclaimable = 0;
        for (String line : lines(group.resolve("memory.stat"))) {
            if (line.startsWith("inactive_file ") || line.startsWith("active_file ")) {
                reclaimable += Long.parseLong(line.substring(line.indexOf(' ') + 1).trim());
            }
        }
        return Math.max(0, limit - Math.max(0, used - reclaimable));
    }

    /** Returns the number in a file; {@link Long#MAX_VALUE} for "max" or a missing file. */
    private static long number(Path file) {
        List<String> lines = lines(file);
        if (lines.isEmpty() || lines.getFirst().equals("max")) {
            return Long.MAX_VALUE;
        }
        return Long.parseLong(lines.getFirst().trim());
    }

    private static List<String> lines(Path file) {
        try {
            return Files.readAllLines(file);
        } catch (IOException e) {
            return List.of();
        }
    }
}
